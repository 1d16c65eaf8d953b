import { expect, test } from 'vitest';
import {
  createServer,
  defineTool,
  ToolRegistry,
  withStages,
  type Stage,
  type ToolSource,
  ToolcribError,
} from '../../src/index.ts';
import { rateLimit, validateInput } from '../../src/stages.ts';
import { createFakeClock, createTestClient } from '../../src/testing.ts';

test('a rate limit that a program puts before validation counts calls with invalid arguments too (000-37)', async () => {
  const { registry, ran } = addTool();
  const clock = createFakeClock();
  const answers = await callWrongly(withStages(registry, [rateLimit({ perMinute: 5 }, { clock })]));
  expect(answers.slice(0, 5)).toEqual(Array.from({ length: 5 }, () => 'Invalid arguments'));
  expect(answers.slice(5)).toEqual(Array.from({ length: 5 }, () => 'Too many calls'));
  expect(ran).toEqual([]);
});

test('control: a rate limit behind validation does not count such calls (000-37)', async () => {
  const { registry } = addTool();
  const limited = withStages(registry, [rateLimit({ perMinute: 5 }, { clock: createFakeClock() })]);
  const answers = await callWrongly(withStages(limited, [validateInput]));
  expect(answers).toEqual(Array.from({ length: 10 }, () => 'Invalid arguments'));
});

test('a stage of the program’s own sees every outcome: done, invalid arguments, refused and timed out', async () => {
  const seen: string[] = [];
  const clock = createFakeClock();
  const { registry, started } = addTool();
  const source = withStages(withStages(registry, [noting('inner', seen)]), [noting('outer', seen)]);
  const server = createServer({ source, clock, deadlineMs: 1_000 });
  const client = createTestClient(server);
  expect(await client.callTool('add', { n: 1 })).toMatchObject({ isError: false });
  expect(await client.callTool('add', { n: 'one' })).toMatchObject({ isError: true });
  expect(await client.callTool('add', { n: -1 })).toMatchObject({ isError: true });
  expect(seen.splice(0)).toEqual([
    'inner done',
    'outer done',
    'inner invalid_arguments',
    'outer invalid_arguments',
    'inner refused',
    'outer refused',
  ]);

  const late = client.callTool('wait');
  await started;
  clock.advance(1_001);
  expect(await late).toMatchObject({ isError: true, text: 'wait took over 1 s and was stopped.' });
  expect(seen).toEqual(['inner timed_out', 'outer timed_out']);
});

async function callWrongly(source: ToolSource): Promise<string[]> {
  const client = createTestClient(createServer({ source }));
  const answers: string[] = [];
  for (let made = 0; made < 10; made++) {
    const { text } = await client.callTool('add', { n: 'one' });
    answers.push(text.replace(/ for add: .*|; .*/, ''));
  }
  return answers;
}

function addTool(): {
  readonly registry: ToolRegistry;
  readonly ran: number[];
  readonly started: Promise<void>;
} {
  const ran: number[] = [];
  const add = defineTool(
    {
      name: 'add',
      description: 'Adds.',
      input: { properties: { n: { type: 'integer' } }, required: ['n'] },
      authorize: ({ n }) => n > 0 || 'Only more.',
    },
    ({ n }) => ran.push(n),
  );
  let start = (): void => {};
  const started = new Promise<void>((resolve) => (start = resolve));
  const wait = defineTool({ name: 'wait', description: 'Waits.' }, () => {
    start();
    return new Promise<string>(() => {});
  });
  return { registry: new ToolRegistry().registerTool(add, wait), ran, started };
}

function noting(name: string, seen: string[]): Stage {
  return {
    name,
    wrap: (_tool, next) => async (call) => {
      try {
        const result = await next(call);
        seen.push(`${name} ${result.kind}`);
        return result;
      } catch (error) {
        seen.push(`${name} ${error instanceof ToolcribError ? error.code : 'exception'}`);
        throw error;
      }
    },
  };
}
