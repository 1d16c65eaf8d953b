import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Caller } from '../../core/caller.ts';
import { withStages } from '../../core/stage.ts';
import { changeTool, defineTool, type Hint, type Tool, type ToolAnnotations } from '../../core/tool.ts';
import { createFakeClock, createTestCall, recordingSource } from '../../testing.ts';
import { approve } from './approve.ts';
import type { OnToolCall } from './decision.ts';
import { UntrustedReads } from './untrusted-reads.ts';

const ALL_HINTS: readonly Hint[] = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];

function toolOf(name: string, annotations?: ToolAnnotations): Tool {
  const definition = { name, description: `Does ${name}.`, input: z.strictObject({}) };
  return defineTool({ ...definition, ...(annotations && { annotations }) }, () => name);
}

const farTool = (name: string, source: string, annotations?: ToolAnnotations): Tool =>
  changeTool(toolOf(name, annotations), {
    place: { source, name },
    ...(source === 'web' && { assumedHints: ALL_HINTS }),
  });

const page = farTool('page', 'web', { readOnlyHint: true, openWorldHint: false });
const wiki = farTool('wiki', 'intranet', { readOnlyHint: true });
const fetched = toolOf('fetched', { readOnlyHint: true, openWorldHint: true });
const send = toolOf('send');
const local = toolOf('local', { openWorldHint: false });

const callerOf = (id: string): Caller => ({
  id,
  tenant: { id: 'north', name: 'North', data: {} },
  scopes: [],
  roles: [],
});
const ada = callerOf('ada');
const bob = callerOf('bob');

interface Line {
  readonly asked: string[];
  readonly advance: (ms: number) => void;
  call(tool: Tool, caller?: Caller): Promise<string>;
}

function lineOf(options: object = {}, untrustedReads?: UntrustedReads): Line {
  const clock = createFakeClock();
  const asked: string[] = [];
  const onToolCall: OnToolCall = ({ tool, caller }) => {
    asked.push(`${caller} ${tool}`);
    return 'deny';
  };
  const isTrusted = (server: string): boolean => server === 'intranet';
  const stage = approve(
    { mode: 'person', when: [], afterUntrustedMinutes: 30, ...options },
    { onToolCall, clock, isTrusted, untrustedReads: untrustedReads ?? new UntrustedReads(clock) },
  );
  const source = withStages(recordingSource(page, wiki, fetched, send, local), [stage]);
  return {
    asked,
    advance: (ms) => clock.advance(ms),
    call: async (tool, caller = ada) => {
      try {
        const { kind } = await source.call(createTestCall(tool, { caller }));
        return kind;
      } catch (error) {
        return (error as Error).message.split(':')[0]!;
      }
    },
  };
}

const DENIED = 'Nothing was done';

test('C6 after a result of an untrusted server a person decides on calls that may reach outside, for a while', async () => {
  const { call, asked, advance } = lineOf();
  expect(await call(send)).toBe('done');
  expect(await call(page)).toBe('done');
  expect(await call(send)).toBe(DENIED);
  // What reaches nothing else can carry nothing away, and other callers have read nothing.
  expect([await call(local), await call(send, bob)]).toEqual(['done', 'done']);
  // Hints of such a server do not count.
  expect(await call(page)).toBe(DENIED);
  advance(30 * 60_000);
  expect(await call(send)).toBe('done');
  expect(asked).toEqual(['ada send', 'ada page']);
});

test('C6 results of tools that reach outside count, those of trusted servers do not', async () => {
  const { call, asked } = lineOf();
  expect([await call(wiki), await call(send)]).toEqual(['done', 'done']);
  expect(await call(fetched)).toBe('done');
  expect([await call(send), await call(wiki)]).toEqual([DENIED, DENIED]);
  expect(asked).toEqual(['ada send', 'ada wiki']);
});

test('C6 each of 600 callers that read something is asked about, and none that did not', async () => {
  const { call, asked } = lineOf();
  const callers = Array.from({ length: 1_200 }, (_, index) => callerOf(`caller ${index}`));
  for (const [index, caller] of callers.entries()) if (index % 2 === 0) await call(page, caller);
  const outcomes = await Promise.all(callers.map((caller) => call(send, caller)));
  expect(outcomes.filter((outcome, index) => (outcome === DENIED) !== (index % 2 === 0))).toEqual([]);
  expect(asked).toHaveLength(600);
});

test('without the rule nobody is asked', async () => {
  const { call, asked } = lineOf({ afterUntrustedMinutes: 0 });
  expect([await call(page), await call(send)]).toEqual(['done', 'done']);
  expect(asked).toEqual([]);
});

test('a tenant with very many callers does not make others be forgotten', () => {
  const reads = new UntrustedReads(createFakeClock());
  reads.note(ada);
  const crowd = Array.from({ length: 30_000 }, (_, index) => index);
  for (const id of crowd)
    reads.note({ ...callerOf(`crowd ${id}`), tenant: { id: 'south', name: 'South', data: {} } });
  expect(reads.isRecent(ada, 1_000)).toBe(true);
});
