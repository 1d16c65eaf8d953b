import { writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { defineTool, localCaller, ToolRegistry, withStages } from '../../src/index.ts';
import { cache, ResultCache } from '../../src/stages.ts';
import { createTestCall } from '../../src/testing.ts';
import { everythingForStaff, openCrib, type Crib } from '../gateway.ts';

const UNDER = { _meta: { 'dev.toolcrib/idempotencyKey': 'once' } };

/** A tool whose results are kept, and one with effects, both of which answer with what another file says. */
const moduleText = (word: string, from = './words/word.ts'): string => `
  import { word } from ${JSON.stringify(from)};
  const inputSchema = { type: 'object' };
  export const look = {
    name: 'look', description: 'Looks.', inputSchema, annotations: { readOnlyHint: true }, cache: { seconds: 300 },
    handler: () => ${JSON.stringify(word)} + ' ' + word,
  };
  export const act = { name: 'act', description: 'Acts.', inputSchema, handler: () => ${JSON.stringify(word)} + ' ' + word };
`;
const wordText = (word: string): string =>
  `import end from '../end.json';\nexport const word = ${JSON.stringify(word)} + end.text;`;

async function open(watch = false): Promise<Crib> {
  return openCrib({
    watch,
    files: {
      'tools/one.ts': moduleText('old'),
      'tools/words/word.ts': wordText('word'),
      'tools/end.json': '{ "text": "." }',
    },
    config: { tools: { modules: ['./tools/*.ts'] }, access: [everythingForStaff] },
  });
}

async function look(crib: Crib): Promise<string> {
  return (await (await crib.connect('ada')).call('look')).content[0]!.text;
}

const from = (crib: Crib): unknown[] => crib.rowsOf('look').map((row) => row['from']);

test('a cached result survives a reload that does not change the code of its tool', async () => {
  const crib = await open();
  expect(await look(crib)).toBe('old word.');
  crib.configure({
    tools: { modules: ['./tools/*.ts'], ready: { ping: {} } },
    access: [everythingForStaff],
  });
  await crib.reload();
  expect(await look(crib)).toBe('old word.');
  expect(from(crib)).toEqual([undefined, 'cache']);
});

test.each([
  { what: 'the file itself', file: 'tools/one.ts', text: moduleText('new'), answer: 'new word.' },
  { what: 'a file it imports', file: 'tools/words/word.ts', text: wordText('sign'), answer: 'old sign.' },
])('a tool whose code changed does not answer from the cache: $what', async ({ file, text, answer }) => {
  const crib = await open();
  expect(await look(crib)).toBe('old word.');
  writeFileSync(crib.path(file), text);
  await crib.reload();
  expect(await look(crib)).toBe(answer);
  expect(await look(crib)).toBe(answer);
  expect(from(crib)).toEqual([undefined, undefined, 'cache']);
});

test('a tool that is fixed while the server runs does not answer from the cache', async () => {
  const crib = await open(true);
  expect(await look(crib)).toBe('old word.');
  writeFileSync(crib.path('tools/one.ts'), moduleText('new'));
  await expect.poll(() => look(crib), { timeout: 10_000 }).toBe('new word.');
});

test('the cache of a tool with a computed import is kept until its module is loaded again', async () => {
  const crib = await open();
  const computed = moduleText('old').replace(
    /import \{ word \} from (.*);/,
    'const { word } = await import([$1][0]);',
  );
  writeFileSync(crib.path('tools/one.ts'), computed);
  await crib.reload();
  expect(await look(crib)).toBe('old word.');
  expect(await look(crib)).toBe('old word.');
  writeFileSync(crib.path('tools/words/word.ts'), wordText('sign'));
  await crib.reload();
  expect(await look(crib)).toBe('old sign.');
  expect(from(crib)).toEqual([undefined, 'cache', undefined]);
});

test('a result under an idempotency key stays the same after the code changed', async () => {
  const crib = await open();
  const act = async (): Promise<string> => {
    const peer = await crib.connect('ada');
    const result = await peer.result('tools/call', { name: 'act', arguments: {}, ...UNDER });
    return (result as { content: { text: string }[] }).content[0]!.text;
  };
  expect(await act()).toBe('old word.');
  writeFileSync(crib.path('tools/one.ts'), moduleText('new'));
  await crib.reload();
  expect(await act()).toBe('old word.');
});

test('in code, a tool that replaces another of the same name and definition has a cache of its own', async () => {
  const tool = (word: string) =>
    defineTool(
      { name: 'look', description: 'Looks.', annotations: { readOnlyHint: true }, cache: { seconds: 300 } },
      () => word,
    );
  const registry = new ToolRegistry({ annotationDefaults: 'saas' }).registerTool(tool('old'));
  const results = new ResultCache();
  const ask = async (): Promise<unknown> => {
    // A view that changes the definition has the results of the tool it is made of.
    const shown = withStages(registry, [
      { name: 'rename', expose: (one) => ({ ...one }) },
      cache({}, { policyVersion: '1', results }),
    ]);
    const found = (await shown.find('look', localCaller))!;
    return shown.call(createTestCall(found));
  };
  expect(await ask()).toMatchObject({ content: [{ text: 'old' }] });
  await ask();
  expect(results.size).toBe(1);
  registry.replace(tool('new'));
  expect(await ask()).toMatchObject({ content: [{ text: 'new' }] });
});
