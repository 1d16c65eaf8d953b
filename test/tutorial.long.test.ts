import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli, runTypeScript } from './behaviour/child.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');
const steps = [...page.matchAll(/^## \d+\. (.+)$[^]*?```ts\n([^]*?)```\n\n```text\n([^]*?)```/gm)].map(
  ([, title = '', code = '', printed = '']) => ({ title, code, printed }),
);

// Inside the package, so that the code finds it by its own name.
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(root, '.tutorial-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('the tutorial has functions first and classes last, and validation, errors and security before types (001-75)', () => {
  expect(steps.map(({ title }) => title)).toEqual([
    'A function',
    'Validation',
    'Errors',
    'Security',
    'Types',
    'Classes',
    'Check and serve',
  ]);
  const firstWith = (text: string) => steps.findIndex(({ code }) => code.includes(text));
  expect(['.register(', 'defineTool(', 'extends AbstractTool'].map(firstWith)).toEqual([0, 4, 5]);
  // Every program of the page is one of the steps.
  expect(page.match(/^```ts$/gm)).toHaveLength(steps.length);
});

test.each(steps.map((step, index) => [step.title, index, step] as const))(
  '"%s" prints what the tutorial says (001-75)',
  async (_title, index, { code, printed }) => {
    const file = join(folder, `step-${index + 1}.ts`);
    writeFileSync(file, code);
    const { stdout } = await run(process.execPath, [runTypeScript, file], {
      cwd: root,
      env: { ...process.env, NO_COLOR: '1' },
    });
    expect(stdout).toBe(printed);
  },
);

test('the commands at the end of the tutorial work on tools in files (001-75)', async () => {
  expect(page).toMatch(/npx toolcrib lint .*\nnpx toolcrib codegen /);
  expect(page).toContain('`tools: { modules: [./tools/*.ts] }`');
  const project = join(folder, 'project');
  mkdirSync(join(project, 'tools'), { recursive: true });
  writeFileSync(join(project, 'toolcrib.yaml'), 'tools: { ready: {}, modules: [./tools/*.ts] }\n');
  const definition =
    "{ name: 'msg', description: 'Sends a message', input: { properties: { to: { type: 'string' } } } }";
  writeFileSync(
    join(project, 'tools/msg.ts'),
    `import { defineTool } from 'toolcrib';\nexport const msg = defineTool(${definition}, () => 'Sent.');\n`,
  );
  const command = (...args: string[]) => run(process.execPath, [cli, ...args], { cwd: project });
  expect((await command('lint')).stdout).toMatch(/^msg {2}about \d+ tokens\n {2}warning {2}name-verb /);
  await expect(command('lint', '--strict', '--json')).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining('"ok": false'),
  });
  await expect(command('lint', 'none.ts')).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringContaining('none.ts: There is no such file.'),
  });
  expect((await command('codegen')).stdout).toContain('msg: { input: MsgInput; output: unknown };');
  expect((await command('codegen', '--out', 'types.ts')).stdout).toBe('types.ts has the types of 1 tool.\n');
  expect(readFileSync(join(project, 'types.ts'), 'utf8')).toContain(
    'export interface MsgInput {\n  to?: string;\n}',
  );
}, 60_000);
