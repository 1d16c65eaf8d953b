import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { codegen, type CodegenFlags } from './codegen/codegen.ts';
import { lint, type LintFlags } from './lint.ts';

const good = `{
  name: 'get_stock',
  description: 'Looks up the stock of an article. Returns the count. Use it before promising a delivery.',
  inputSchema: {
    type: 'object',
    properties: { sku: { type: 'string', description: 'Article number.' } },
    required: ['sku'],
    additionalProperties: false,
  },
  outputSchema: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
  annotations: { readOnlyHint: true, openWorldHint: false },
  handler: () => ({ count: 1 }),
}`;
const moduleOf = (tool: string) => `export const tool = ${tool};\n`;
const noun = good.replace("'get_stock'", "'stock'");
const contradiction = good.replace("'get_stock'", "'delete_stock'");

test('a tool without findings says so, with an estimate of its size', async () => {
  const { path, run } = setUp({ 'stock.ts': moduleOf(good) });
  const { output, code } = await run([path('stock.ts')]);
  expect(output).toMatch(/^get_stock {2}about \d+ tokens, clean\n1 tool, about \d+ tokens: clean\.\n$/);
  expect(code).toBeUndefined();
});

test('findings are listed under their tool, and errors make the command fail', async () => {
  const { path, run } = setUp({ 'a.ts': moduleOf(noun), 'b.mjs': moduleOf(contradiction) });
  const { output, code } = await run([path('a.ts'), path('b.mjs')]);
  expect(output.split('\n')).toEqual([
    expect.stringMatching(/^delete_stock {2}about \d+ tokens$/),
    expect.stringMatching(/^ {2}error {4}hint-contradiction {2,}.*\[annotations\.readOnlyHint\]$/),
    expect.stringMatching(/^stock {2}about \d+ tokens$/),
    expect.stringMatching(/^ {2}warning {2}name-verb {2,}Say in the name .*\[name\]$/),
    expect.stringMatching(/^ {2}warning {2}description-repeated {2,}/),
    expect.stringMatching(/^2 tools, about \d+ tokens: 1 error, 2 warnings, 0 hints\.$/),
    expect.stringMatching(/^\/.*\/docs\/lint\.md explains each rule under its name\.$/),
    '',
  ]);
  expect(code).toBe(1);
});

test('warnings fail only with an option, and a rule can be left out', async () => {
  const { path, run } = setUp({ 'a.ts': moduleOf(noun) });
  const file = path('a.ts');
  expect((await run([file])).code).toBeUndefined();
  expect((await run([file], { strict: true })).code).toBe(1);
  expect((await run([file], { strict: true, ignore: 'size-tool, name-verb' })).code).toBeUndefined();
  await expect(run([file], { ignore: 'name-vreb' })).rejects.toThrow(/no rule "name-vreb"/);
});

test('--json prints the same as JSON', async () => {
  const { path, run } = setUp({ 'a.ts': moduleOf(contradiction) });
  const { output, code } = await run([path('a.ts')], { json: true });
  expect(code).toBe(1);
  expect(JSON.parse(output)).toMatchObject({
    ok: false,
    counts: { error: 1, warning: 0, hint: 0 },
    tokens: expect.any(Number),
    problems: [],
    findings: [],
    tools: [{ name: 'delete_stock', tokens: expect.any(Number), findings: [{ rule: 'hint-contradiction' }] }],
  });
});

test('a configuration is linted with its ready-made tools and its modules', async () => {
  const { path, run } = setUp({
    'toolcrib.yaml': 'tools: { ready: { ping: {} }, modules: [./tools/*.ts] }\n',
    'tools/stock.ts': moduleOf(good),
  });
  for (const { output, code } of [
    await run([]),
    await run([], { config: path('toolcrib.yaml') }),
    await run([path('toolcrib.yaml')]),
  ]) {
    expect(output).toMatch(/^get_stock {2}about[^]*^ping {2}about/m);
    expect(code).toBeUndefined();
  }
});

test('lint and codegen see a configuration as its callers do, with what the approve stage adds', async () => {
  const wipe = good
    .replace("'get_stock'", "'wipe_stock'")
    .replace('readOnlyHint: true,', 'readOnlyHint: false, destructiveHint: true, idempotentHint: true,');
  const { path, run, generate } = setUp({
    'with.yaml': 'tools: { ready: {}, modules: [./wipe.ts] }\nstages: { approve: {} }\n',
    'without.yaml': 'tools: { ready: {}, modules: [./wipe.ts] }\n',
    'wipe.ts': moduleOf(wipe),
  });
  expect(await generate([path('without.yaml')])).not.toContain('confirmed');
  const types = await generate([path('with.yaml')]);
  expect(types).toMatch(/interface WipeStockInput \{[^}]*confirmed\?: boolean;/);
  expect(types).toContain('"confirmation_required"');
  const tokens = async (name: string): Promise<number> => {
    const { output, code } = await run([path(name)], { json: true, strict: true });
    expect(code).toBeUndefined();
    return (JSON.parse(output) as { tokens: number }).tokens;
  };
  expect(await tokens('with.yaml')).toBeGreaterThan(await tokens('without.yaml'));
});

test('two tools of one name in a configuration are reported with their place', async () => {
  const { path, run } = setUp({
    'toolcrib.yaml': 'tools:\n  ready: { ping: {} }\n  openapi: ./ping.json\n',
    'ping.json': pingApi,
  });
  await expect(run([path('toolcrib.yaml')])).rejects.toThrow(
    /toolcrib\.yaml:3:\d+: tools\.openapi offers a tool named "ping", and so does tools\.ready\.ping; set "prefix" here\./,
  );
});

const pingApi = JSON.stringify({
  openapi: '3.1.0',
  servers: [{ url: 'https://ping.example' }],
  paths: { '/ping': { get: { operationId: 'ping' } } },
});

test('the tools/list result of another server is read from a file', async () => {
  const listed = { name: 'x y', description: '', inputSchema: { type: 'array' } };
  const { path, run } = setUp({
    'list.json': JSON.stringify([listed]),
    'result.json': JSON.stringify({ tools: [listed] }),
    'answer.json': JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: [listed] } }),
    'odd.json': JSON.stringify({ tools: [{ title: 'no name' }] }),
    'deep.json': `[{ "name": "a", "inputSchema": ${'['.repeat(5_000)}${']'.repeat(5_000)} }]`,
    'broken.json': '{',
  });
  for (const name of ['list.json', 'result.json', 'answer.json']) {
    const { output, code } = await run([path(name)]);
    expect(output).toMatch(/name-characters[^]*description-length[^]*schema-root/);
    expect(code).toBe(1);
  }
  expect((await run([path('odd.json')])).output).toMatch(/It holds no tools: save what a server answers/);
  expect((await run([path('deep.json')])).output).toMatch(/nested deeper than 256 levels/);
  await expect(run([path('broken.json')])).rejects.toThrow(/is not JSON/);
  await expect(run([path('none.json')])).rejects.toThrow(/cannot be read/);
});

test('a file that is missing, of another kind, without tools or broken is named, and the others are still read', async () => {
  const { path, run } = setUp({
    'good.ts': moduleOf(good),
    'empty.ts': 'export const nothing = 1;\n',
    'broken.ts': 'throw new Error("no database");\n',
    'notes.md': '# Notes',
  });
  const names = ['good.ts', 'empty.ts', 'broken.ts', 'notes.md', 'missing.ts'];
  const { output, code } = await run(names.map(path));
  expect(code).toBe(1);
  expect(output).toMatch(/error .*missing\.ts: There is no such file\./);
  expect(output).toMatch(/error .*notes\.md: Tools are read from TypeScript and JavaScript/);
  expect(output).toMatch(/error .*empty\.ts: It exports no tool, resource or prompt: write/);
  expect(output).toMatch(/error .*broken\.ts: .*no database/);
  expect(output).toMatch(/^get_stock .*clean$/m);
  expect(output).toMatch(/4 files that cannot be used, 0 errors/);
});

test('without a file and without toolcrib.yaml it says which file to name', async () => {
  const { run } = setUp({});
  await expect(run([])).rejects.toThrow(/There is no toolcrib\.yaml here: name files with tools/);
});

test('colours are used only at a terminal, and not with NO_COLOR', async () => {
  const { path, run } = setUp({ 'a.ts': moduleOf(noun) });
  const file = path('a.ts');
  expect((await run([file])).output).not.toContain('\u001B');
  const { isTTY } = process.stdout;
  onTestFinished(() => {
    process.stdout.isTTY = isTTY;
    vi.unstubAllEnvs();
  });
  process.stdout.isTTY = true;
  vi.stubEnv('NO_COLOR', '');
  expect((await run([file])).output).toContain('\u001B[33mwarning');
  vi.stubEnv('NO_COLOR', '1');
  expect((await run([file])).output).not.toContain('\u001B');
});

test('terminal escape sequences in the name of a tool are not printed', async () => {
  const evil = {
    name: 'get_\u001B[2Jx',
    description: 'a',
    inputSchema: { properties: { '\u009B2J\u202E': {} } },
  };
  const { path, run } = setUp({ 'evil.json': JSON.stringify([evil]) });
  const { output } = await run([path('evil.json')]);
  for (const unseen of ['\u001B', '\u009B', '\u202E']) expect(output).not.toContain(unseen);
  expect(output).toContain('get_\\u001b[2Jx');
});

test('codegen prints types, or writes them to a file', async () => {
  const { path, generate } = setUp({ 'stock.ts': moduleOf(good) });
  const text = await generate([path('stock.ts')]);
  expect(text).toContain('get_stock: { input: GetStockInput; output: GetStockOutput };');
  const out = path('types.ts');
  expect(await generate([path('stock.ts')], { out })).toBe(`${out} has the types of 1 tool.\n`);
  expect(readFileSync(out, 'utf8')).toBe(text);
  await expect(generate([path('stock.ts')], { out: path('no/such/types.ts') })).rejects.toThrow(
    /cannot be written/,
  );
});

test('lint and codegen say what a server said before it ended', async () => {
  const { run, generate } = setUp({});
  const server = [process.execPath, '-e', 'console.error("No licence."); process.exit(3)'];
  await expect(run([], { server })).rejects.toThrow(/ended with exit code 3\.\nNo licence\.$/);
  await expect(generate([], { server })).rejects.toThrow('No licence.');
});

test('codegen writes nothing for unreadable files, for no tools and for two tools of one name', async () => {
  const { path, generate } = setUp({
    'stock.ts': moduleOf(good),
    'same.json': '[{ "name": "get_stock", "inputSchema": {} }]',
    'none.json': '[]',
  });
  await expect(generate([path('stock.ts'), path('missing.ts')])).rejects.toThrow(/There is no such file/);
  await expect(generate([path('none.json')])).rejects.toThrow(/There are no tools/);
  await expect(generate([path('stock.ts'), path('same.json')])).rejects.toThrow(
    /Two tools are called "get_stock"/,
  );
});

function setUp(files: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-lint-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = (name: string): string => join(folder, name);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(path(name)), { recursive: true });
    writeFileSync(path(name), text);
  }
  const run = async (args: readonly string[], flags: LintFlags = {}) =>
    captured(folder, () => lint(args, flags));
  const generate = async (args: readonly string[], flags: CodegenFlags = {}) =>
    (await captured(folder, () => codegen(args, flags))).output;
  return { path, run, generate };
}

async function captured(folder: string, work: () => Promise<void>) {
  let output = '';
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    output += String(text);
    return true;
  });
  const before = process.cwd();
  process.chdir(folder);
  try {
    await work();
    return { output, code: process.exitCode };
  } finally {
    process.chdir(before);
    spy.mockRestore();
    process.exitCode = undefined;
  }
}
