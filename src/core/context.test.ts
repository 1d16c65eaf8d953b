import { expect, test } from 'vitest';
import type { Progress, ToolCall } from './call.ts';
import { localCaller } from './caller.ts';
import { Cancellation } from './cancellation.ts';
import { contextOf } from './context.ts';

test('a handler sees who calls, for which tenant, with which client and metadata', () => {
  const tenant = { id: 'acme', name: 'Acme', data: { plan: 'gold' } };
  const caller = { ...localCaller, id: 'ada', tenant };
  const client = { name: 'cli', version: '1', protocolVersion: '2026-07-28', capabilities: {} };
  const context = contextOf(callWith({ caller, client, meta: { trace: 'x' } }));
  expect(context.caller).toBe(caller);
  expect(context.tenant).toBe(tenant);
  expect(context.client).toBe(client);
  expect(context.meta).toEqual({ trace: 'x' });
});

test('the signal of the context is the one that stops the call', () => {
  const cancellation = new Cancellation();
  const { signal } = contextOf(callWith({ cancellation }));
  cancellation.abort(new Error('enough'));
  expect(signal.aborted).toBe(true);
});

test('progress is told with a total and a message only where they are given', () => {
  const reports: Progress[] = [];
  const { progress } = contextOf(callWith({ report: (report) => reports.push(report) }));
  progress(1);
  progress(2, 4);
  progress(4, 4, 'done');
  expect(reports).toEqual([
    { progress: 1 },
    { progress: 2, total: 4 },
    { progress: 4, total: 4, message: 'done' },
  ]);
});

test('progress nobody asked for goes nowhere', () => {
  const { progress } = contextOf(callWith({ report: undefined }));
  expect(() => progress(1)).not.toThrow();
});

function callWith(part: Partial<ToolCall>): ToolCall {
  return {
    kind: 'tool',
    tool: {
      name: 'a',
      description: 'Does a.',
      inputSchema: { type: 'object', properties: {} },
      handler: () => undefined,
    },
    arguments: {},
    caller: localCaller,
    client: { name: undefined, version: undefined, protocolVersion: undefined, capabilities: {} },
    meta: {},
    cancellation: new Cancellation(),
    report: undefined,
    ...part,
  };
}
