import { Readable, Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { recorded } from '../../src/core/record.ts';
import { ToolcribError } from '../../src/base/errors.ts';
import { serveStdio } from '../../src/server/stdio.ts';
import type { Refusal } from '../../src/core/record.ts';
import { modernMeta } from './attack.ts';
import { ask, keyed, type Keyed } from './keyed.ts';

interface Watched {
  readonly target: Keyed;
  readonly headers: { authorization: string };
  readonly refusals: Omit<Refusal, 'caller'>[];
  readonly unknown: string[];
}

async function watched(maxBodyBytes = 1_000): Promise<Watched> {
  const refusals: Watched['refusals'] = [];
  const unknown: string[] = [];
  const target = await keyed({
    maxBodyBytes,
    onRefusal: ({ caller, ...refusal }) => {
      expect(caller.id).toBe('ada');
      refusals.push(refusal);
    },
    onUnknown: (code) => void unknown.push(code),
  });
  const headers = { authorization: `Bearer ${target.identities.addKey()}` };
  return { target, headers, refusals, unknown };
}

const rpc = (method: string, params: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });

test.each<[string, Parameters<typeof ask>[1], Omit<Refusal, 'caller'>]>([
  ['not JSON', { body: '{' }, { method: undefined, target: undefined, code: 'parse_error' }],
  ['no message', { body: '{"a":1}' }, { method: undefined, target: undefined, code: 'invalid_request' }],
  [
    'an unknown method',
    { body: rpc('no/such') },
    { method: 'no/such', target: undefined, code: 'unknown_method' },
  ],
  [
    'malformed params',
    { body: rpc('tools/call', { name: 'danger', arguments: [] }) },
    { method: 'tools/call', target: 'danger', code: 'invalid_params' },
  ],
  [
    'headers that differ from the body',
    {
      body: rpc('tools/list', { _meta: modernMeta }),
      headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'x' },
    },
    { method: 'tools/list', target: undefined, code: 'header_mismatch' },
  ],
  [
    'too much',
    { body: rpc('x', { x: 'x'.repeat(2_000) }) },
    { method: undefined, target: undefined, code: 'too_large' },
  ],
  [
    'another type',
    { headers: { 'content-type': 'text/plain' } },
    { method: undefined, target: undefined, code: 'unsupported_media' },
  ],
  [
    'an unknown session',
    { headers: { 'mcp-session-id': 'x' } },
    { method: 'tools/call', target: 'danger', code: 'unknown_session' },
  ],
  [
    'GET without a session',
    { method: 'GET' },
    { method: undefined, target: undefined, code: 'method_not_allowed' },
  ],
  ['another tenant', { path: '/t/south/mcp' }, { method: undefined, target: undefined, code: 'not_found' }],
])(
  'A2 the refusal of a known caller that sends %s is reported once',
  async (_what, request = {}, refusal) => {
    const { target, headers, refusals, unknown } = await watched();
    await ask(target, { ...request, headers: { ...headers, ...request.headers } });
    expect({ refusals, unknown }).toEqual({ refusals: [refusal], unknown: [] });
    const before = refusals.length;
    await target.server.fetch(
      new Request('http://localhost/mcp', {
        method: request.method ?? 'POST',
        headers: { 'content-type': 'application/json', ...headers, ...request.headers },
        ...(request.method === undefined && { body: request.body ?? rpc('tools/call', { name: 'danger' }) }),
      }),
    );
    expect(refusals.slice(before)).toEqual(request.path === undefined ? [refusal] : []);
  },
);

test('a good call is not reported as a refusal, nor is one that a stage has already recorded', async () => {
  const { target, headers, refusals } = await watched();
  await ask(target, { headers });
  expect(refusals).toEqual([]);
  target.source.call = () => {
    const error = new ToolcribError('unknown_tool', 'No.');
    recorded.add(error);
    throw error;
  };
  await ask(target, { headers });
  expect(refusals).toEqual([]);
});

test.each<[string, Parameters<typeof ask>[1], string]>([
  ['is not known', {}, 'unauthenticated'],
  ['comes by a foreign name', { headers: { host: 'evil.example' } }, 'refused_origin'],
  ['asks for something else', { path: '/x' }, 'not_found'],
])('the refusal of a client that %s is counted by its reason', async (_who, request, code) => {
  const { target, refusals, unknown } = await watched();
  await ask(target, request);
  expect({ refusals, unknown }).toEqual({ refusals: [], unknown: [code] });
});

test('a refusal listener that throws does not affect the client', async () => {
  const fail = (): never => {
    throw new Error('The journal is full.');
  };
  const target = await keyed({ onRefusal: fail, onUnknown: fail });
  expect((await ask(target)).status).toBe(401);
  const headers = { authorization: `Bearer ${target.identities.addKey()}` };
  expect((await ask(target, { headers, body: '{' })).status).toBe(400);
  const failures = target.logged.filter((entry) => entry.includes('A refusal could not be noted.'));
  expect(failures.length).toBe(2);
});

test('refusals over standard input are reported too', async () => {
  const codes: string[] = [];
  const { server } = await keyed({ onRefusal: ({ code, caller }) => codes.push(`${caller.id} ${code}`) });
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const input = Readable.from([Buffer.from('{\n'), Buffer.from(`${'x'.repeat(4_200_000)}\n`)]);
  await serveStdio(server, { input, output });
  expect(codes).toEqual(['local parse_error', 'local too_large']);
});
