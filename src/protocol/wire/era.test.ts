import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { ToolcribError } from '../../base/errors.ts';
import { eraOf, namesModern } from './era.ts';
import type { JsonObject, NotificationMessage, RequestMessage } from './json-rpc.ts';
import { metaKeys } from './meta.ts';

const MODERN = '2026-07-28';

describe('modern versions', () => {
  test.each<[version: unknown, isModern: boolean]>([
    ['2026-07-28', true],
    ['2027-01-01', true],
    ['2025-11-25', false],
    ['2026-07-27', false],
    ['DRAFT-2026-v1', false],
    ['2026-07-28x', false],
    [' 2026-07-28', false],
    ['', false],
    [20260728, false],
    [null, false],
    [undefined, false],
  ])('the version %j is modern: %s', (version, isModern) => {
    expect(namesModern(version)).toBe(isModern);
  });
});

describe('the era of a message', () => {
  test.each<
    [name: string, sent: [RequestMessage | NotificationMessage, header: string | undefined], era: string]
  >([
    ['a call with a modern claim', [call(MODERN), MODERN], 'modern'],
    ['a call with a modern claim and no header', [call(MODERN), undefined], 'modern'],
    ['a call with a modern claim and an older header', [call(MODERN), '2025-06-18'], 'modern'],
    ['a call with a claim of an older version', [call('2025-06-18'), undefined], 'modern'],
    ['a call with a claim that is not a version', [call(7), undefined], 'modern'],
    ['a call without a claim', [call(undefined), undefined], 'legacy'],
    ['a call without a claim and an older header', [call(undefined), '2025-06-18'], 'legacy'],
    ['a call without a claim and a modern header', [call(undefined), MODERN], 'incomplete_meta'],
    ['a handshake', [request('initialize'), undefined], 'legacy'],
    ['a handshake with an older header', [request('initialize'), '2025-06-18'], 'legacy'],
    ['a handshake with a modern header', [request('initialize'), MODERN], 'header_mismatch'],
    ['a handshake with a modern claim', [request('initialize', MODERN), MODERN], 'modern'],
    ['a handshake that claims an older version', [request('initialize', '2025-06-18'), undefined], 'legacy'],
    ['a notification', [notification(), undefined], 'legacy'],
    ['a notification with a modern header', [notification(), MODERN], 'modern'],
  ])('the era of %s is recognised, or refused', (_name, [message, header], era) => {
    expect(outcome(message, header)).toBe(era);
  });

  test('every message has an era or an error, and always the same one', () => {
    fc.assert(
      fc.property(anyMessage, anyHeader, (message, header) => {
        const first = outcome(message, header);
        expect(['modern', 'legacy', 'incomplete_meta', 'header_mismatch']).toContain(first);
        expect(outcome(structuredClone(message), header)).toBe(first);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  test('A3 a header alone never makes a request modern, and a version claim outside a handshake always does', () => {
    fc.assert(
      fc.property(anyMessage, anyHeader, (message, header) => {
        const claim = (message.params?.['_meta'] as JsonObject | undefined)?.[metaKeys.protocolVersion];
        const era = outcome(message, header);
        if (message.kind === 'request' && claim === undefined) expect(era).not.toBe('modern');
        if (message.method !== 'initialize' && claim !== undefined) expect(era).toBe('modern');
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  test('arguments and other params do not change the era of a request', () => {
    fc.assert(
      fc.property(anyMessage, anyHeader, fc.jsonValue(), (message, header, value) => {
        const changed = {
          ...message,
          params: { ...message.params, arguments: value, protocolVersion: MODERN },
        };
        expect(outcome(changed as typeof message, header)).toBe(outcome(message, header));
      }),
    );
  });
});

const version = fc.oneof(
  fc.constantFrom(MODERN, '2025-06-18', '2025-03-26', '2099-12-31', 'DRAFT-2026-v1', ''),
  fc.string({ maxLength: 12 }),
);
const anyHeader = fc.option(version, { nil: undefined });
const claim = fc.option(fc.oneof(version, fc.jsonValue({ maxDepth: 1 })), { nil: undefined });
const anyMessage = fc
  .tuple(fc.constantFrom('initialize', 'tools/call', 'ping', 'server/discover', 'x'), claim, fc.boolean())
  .map(([method, value, isRequest]) =>
    isRequest ? request(method, value) : { ...notification(), method, params: params(value) },
  );

function call(claimed: unknown): RequestMessage {
  return request('tools/call', claimed);
}

function request(method: string, claimed?: unknown): RequestMessage {
  return { kind: 'request', id: 1, idText: '1', method, params: params(claimed) };
}

function notification(): NotificationMessage {
  return { kind: 'notification', method: 'notifications/initialized', params: undefined };
}

function params(claimed: unknown): JsonObject {
  return claimed === undefined ? {} : { _meta: { [metaKeys.protocolVersion]: claimed } };
}

function outcome(message: RequestMessage | NotificationMessage, header: string | undefined): string {
  try {
    return eraOf(message, header);
  } catch (error) {
    if (error instanceof ToolcribError) return error.code;
    throw error;
  }
}
