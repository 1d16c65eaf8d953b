import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const pages = ['README.md', ...pagesIn('docs'), ...pagesIn('docs/stages'), ...pagesIn('docs/tools')];

function pagesIn(folder: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
}

interface Block {
  readonly name: string;
  readonly page: string;
  readonly code: string;
}

const blocks: readonly Block[] = pages.flatMap((page) =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/```ts\n([^]*?)```/g)].map(([, code = ''], index) => ({
    name: `${page.replaceAll(/[/.]/g, '-')}-${index + 1}`,
    page,
    code,
  })),
);

// Inside the package, so that the code finds it by its own name.
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(root, '.docs-'));
  for (const { name, code } of blocks) writeFileSync(join(folder, `${name}.ts`), `${code}\nexport {};\n`);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('every piece of code in the docs type-checks', () => {
  const settings = {
    extends: '../tsconfig.json',
    compilerOptions: { experimentalDecorators: true, noUnusedLocals: false },
    include: ['*.ts'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  expect(blocks.length).toBeGreaterThan(10);
  expect(complaintsOf('tsc', ['-p', folder])).toBe('');
});

test('the test in docs/testing.md runs and passes', () => {
  const { name } = blocks.find(({ page }) => page === join('docs', 'testing.md'))!;
  expect(complaintsOf('jiti', [join(folder, `${name}.ts`)])).toBe('');
});

const programs = pages
  .filter((page) => page !== join('docs', 'tutorial.md')) // The long tests run the tutorial.
  .flatMap((page) =>
    [
      ...readFileSync(join(root, page), 'utf8').matchAll(/```ts\n([^]*?)```(?:\n\n```text\n([^]*?)```)?/g),
    ].flatMap(([, , printed], index) => (printed === undefined ? [] : [{ page, index, printed }])),
  );

test('example programs print the output that the docs show (004-26)', () => {
  // In one process, because starting one takes longer than the programs.
  const end = 'end of a program\n';
  const runs = programs.map(({ page, index }) => {
    const { name } = blocks.filter((block) => block.page === page)[index]!;
    return `await import('./${name}.ts');\nprocess.stdout.write(${JSON.stringify(end)});\n`;
  });
  writeFileSync(join(folder, 'all.ts'), runs.join(''));
  const outputs = outputOf('jiti', [join(folder, 'all.ts')]).split(end);
  expect(programs.map(({ page }, index) => [page, outputs[index]])).toEqual(
    programs.map(({ page, printed }) => [page, printed]),
  );
});

test('every page of the docs is reachable from the README, and no link is broken', () => {
  // The stages and the ready-made tools have a page each that lists them.
  const linked = ['README.md', 'docs/stages.md', 'docs/ready-made.md'].flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/\]\(([^)#:]+)\)/g)].map(([, target = '']) =>
      join(page, '..', target),
    ),
  );
  for (const page of pages.slice(1)) expect(linked).toContain(page);
  for (const target of linked) expect(() => readdirSync(join(root, target, '..'))).not.toThrow();
});

test('every link to a section leads to an existing heading', () => {
  const links = pages.flatMap((page) =>
    [...textOf(page).matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)].map(([, target = '', part = '']) => ({
      from: page,
      to: target === '' ? page : join(page, '..', target),
      part,
    })),
  );
  expect(links.length).toBeGreaterThan(3);
  for (const { from, to, part } of links) expect(headingsOf(to), `${from} to ${to}`).toContain(part);
});

function textOf(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

function headingsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

test('no line of text in the docs is longer than 120 characters', () => {
  const texts = [
    ...pages,
    ...pagesIn('docs/decisions'),
    'ARCHITECTURE.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
  ];
  for (const page of texts) {
    // Rows of tables and lines of code cannot be broken.
    const text = readFileSync(join(root, page), 'utf8').replaceAll(/^ *```[^]*?^ *```$|^\|.*$/gm, '');
    expect([page, text.split('\n').filter((line) => line.length > 120)]).toEqual([page, []]);
  }
});

test('every decision is listed in ARCHITECTURE.md', () => {
  const listed = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  for (const page of pagesIn('docs/decisions')) expect(listed).toContain(`](${page})`);
});

test('every metric of a gateway is documented in docs/operations.md', () => {
  const sources = ['src/gateway/create-gateway.ts', 'src/stages/metrics.ts'].map((file) =>
    readFileSync(join(root, file), 'utf8'),
  );
  const names = sources.flatMap((source) => source.match(/(?<=')toolcrib_\w+(?=')/g) ?? []);
  const [, watched] = readFileSync(join(root, 'docs/operations.md'), 'utf8').split('\n## What to watch\n');
  expect(names.length).toBeGreaterThan(8);
  for (const name of names) expect(watched!.split('\n## ')[0]).toContain(`\`${name}`);
});

function outputOf(command: string, args: readonly string[]): string {
  return execFileSync(join(root, 'node_modules', '.bin', command), args, {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1' },
    timeout: 120_000,
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

function complaintsOf(command: string, args: readonly string[]): string {
  try {
    outputOf(command, args);
    return '';
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return stdout + stderr;
  }
}
