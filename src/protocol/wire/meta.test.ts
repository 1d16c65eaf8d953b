import { expect, test } from 'vitest';
import { clientFacts, metaKeys, metaOf, readHandshake, readModernMeta } from './meta.ts';

const VERSION = '2026-07-28';
const { protocolVersion, clientCapabilities, clientInfo } = metaKeys;

test('a modern request names its version, its client and the capabilities of the client', () => {
  const _meta = {
    [protocolVersion]: VERSION,
    [clientCapabilities]: { elicitation: {} },
    [clientInfo]: { name: 'desk', version: '1.2' },
  };
  expect(readModernMeta({ _meta })).toEqual({
    version: VERSION,
    client: { protocolVersion: VERSION, name: 'desk', version: '1.2', capabilities: { elicitation: {} } },
  });
});

test.each<[name: string, meta: unknown, missing: string]>([
  ['no _meta', undefined, `${protocolVersion} and ${clientCapabilities}`],
  ['a list as _meta', [], `${protocolVersion} and ${clientCapabilities}`],
  ['no version', { [clientCapabilities]: {} }, protocolVersion],
  ['a version that is a number', { [protocolVersion]: 1, [clientCapabilities]: {} }, protocolVersion],
  ['no capabilities', { [protocolVersion]: VERSION }, clientCapabilities],
  ['a list of capabilities', { [protocolVersion]: VERSION, [clientCapabilities]: [] }, clientCapabilities],
])('a modern request with %s is refused, and the error names what is missing', (_name, meta, missing) => {
  expect(() => readModernMeta({ _meta: meta })).toThrow(`"params._meta" must hold ${missing}.`);
});

test('a handshake names the wanted version, the client and the capabilities of the client', () => {
  const params = {
    protocolVersion: 'x',
    capabilities: { roots: {} },
    clientInfo: { name: 'a', version: '1' },
  };
  expect(readHandshake(params)).toEqual({
    wanted: 'x',
    info: { name: 'a', version: '1' },
    capabilities: { roots: {} },
  });
  expect(() => readHandshake({ clientInfo: 'a' })).toThrow(
    '"params" must hold protocolVersion and capabilities and clientInfo with name and version.',
  );
});

test('facts about a client are ignored if they have the wrong type', () => {
  const nobody = { protocolVersion: VERSION, name: undefined, version: undefined, capabilities: {} };
  expect(clientFacts(VERSION, 'desk', 'everything')).toEqual(nobody);
  expect(clientFacts(VERSION, { name: 1, version: {} }, null)).toEqual(nobody);
});

test('A8 the name or version of a client is ignored if it is too long', () => {
  const facts = clientFacts(VERSION, { name: 'n'.repeat(2_049), version: '1'.repeat(2_048) });
  expect([facts.name, facts.version?.length]).toEqual([undefined, 2_048]);
});

test('a request without a valid _meta has an empty one', () => {
  expect([metaOf(undefined), metaOf({}), metaOf({ _meta: null }), metaOf({ _meta: 'x' })]).toEqual([
    {},
    {},
    {},
    {},
  ]);
});
