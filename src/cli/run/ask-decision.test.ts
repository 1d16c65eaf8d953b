import { expect, test } from 'vitest';
import type { Decision, DecisionRequest } from '../../stages/approve/decision.ts';
import { askDecision } from './ask-decision.ts';

const request: DecisionRequest = {
  id: 'call_1',
  tenant: 'local',
  caller: 'local',
  tool: 'write_page',
  server: 'notes',
  description: 'Writes a page.\nMore.',
  arguments: { title: 'Plan', body: 'new' },
  exactArguments: '{"title":"Plan","body":"new"}',
  hints: { destructiveHint: true },
  isTrusted: false,
  previous: undefined,
  serverTools: ['read_page', 'write_page'],
  signal: new AbortController().signal,
};

async function decide(
  answers: readonly (string | undefined)[],
  more: Partial<DecisionRequest> = {},
  isYesToReading = false,
): Promise<{
  readonly decision: Decision;
  readonly shown: string;
  readonly left: number;
  readonly ends: number;
}> {
  const queue = [...answers];
  let shown = '';
  let ends = 0;
  const onToolCall = askDecision({
    isYesToReading,
    onEnd: () => void ends++,
    write: (text) => (shown += text),
    ask: (question) => {
      shown += question;
      return Promise.resolve(queue.shift());
    },
  });
  const decision = await onToolCall({ ...request, ...more });
  return { decision, shown, left: queue.length, ends };
}

test.each<[answer: string, decision: Decision]>([
  ['y', 'allow'],
  ['n', 'deny'],
  ['n not on a Friday', { kind: 'deny', reason: 'not on a Friday' }],
  ['c', { kind: 'allowAlways', scope: 'call' }],
  ['t', { kind: 'allowAlways', scope: 'tool' }],
  ['s', { kind: 'allowAlways', scope: 'server' }],
])('the answer %s means %j', async (answer, decision) => {
  expect((await decide([answer])).decision).toEqual(decision);
});

test('an unclear answer is asked for again, and the end of the input denies the call and stops the run', async () => {
  expect(await decide(['', 'maybe', 'Y'])).toMatchObject({ decision: 'allow', left: 0 });
  expect(await decide(['', undefined])).toMatchObject({ decision: 'deny', ends: 1 });
});

test('arguments can be edited, and an edit that is not a JSON object is asked for again', async () => {
  const edited = await decide(['e', '{"title"', 'e', '{"title":"Other"}']);
  expect(edited.decision).toEqual({ kind: 'edit', arguments: { title: 'Other' } });
  expect(edited.shown).toContain('That is not a JSON object.');
});

test('the person sees the server, the final arguments and whether annotations are trusted', async () => {
  const { shown } = await decide(['n']);
  expect(shown).toContain('The model wants to call write_page of notes: Writes a page.');
  expect(shown).toContain('may destroy something (not trusted)');
  expect(shown).toContain('  title: "Plan"\n  body: "new"');
  expect(shown).toContain('this [s]erver (read_page, write_page)');
});

test('for a repeated call the changes are shown', async () => {
  const { shown } = await decide(['n'], { previous: { title: 'Plan', body: 'old', extra: 1 } });
  expect(shown).toContain('  title: "Plan"\n- body: "old"\n+ body: "new"\n- extra: 1');
});

test('shown text cannot move the cursor, and long values can be shown in full', async () => {
  const hostile = { tool: 'x\u001B[2J', arguments: { 'a\u001B[1A': `\u202E${'y'.repeat(3_000)}end` } };
  const { shown } = await decide(['v', 'n'], hostile);
  expect(shown).not.toContain('\u001B');
  expect(shown).not.toContain('\u202E');
  expect(shown).toContain('answer v to see all');
  expect(shown).toContain('yyyend');
});

test('--yes-read-only approves only calls that a trusted server marks as read-only', async () => {
  const hints = { readOnlyHint: true };
  expect(await decide([], { hints, isTrusted: true }, true)).toMatchObject({ decision: 'allow', shown: '' });
  expect((await decide(['n'], { hints, isTrusted: false }, true)).decision).toBe('deny');
  expect((await decide(['n'], { hints: {}, isTrusted: true }, true)).decision).toBe('deny');
});
