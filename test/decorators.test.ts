import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createJiti } from 'jiti';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ListedTool } from '../src/index.ts';

/** What `fixtures/decorators/report.ts` tells. */
interface Report {
  readonly tools: readonly ListedTool[];
  readonly search: unknown;
  readonly page: unknown;
  readonly recent: unknown;
  readonly refused: string;
  readonly requests: readonly unknown[];
}

const run = promisify(execFile);
const root = join(import.meta.dirname, '..');
const fixtures = join(import.meta.dirname, 'fixtures', 'decorators');

describe.each<[convention: string, load: () => Promise<Report>]>([
  ['standard decorators, compiled by tsc', () => compiled()],
  ['experimental decorators, compiled by tsc', () => compiled('--experimentalDecorators')],
  ['decorators loaded by jiti', loaded],
])('%s', (_convention, load) => {
  let report: Report;

  beforeAll(async () => {
    report = await load();
  });

  test('a decorated method becomes a tool with the name, description and schema it is given (000-18)', () => {
    expect(report.tools.map(({ name }) => name)).toEqual(['get_page', 'list_recent_pages', 'search_pages']);
    expect(report.tools[2]).toEqual({
      name: 'search_pages',
      description: 'Search for Notion pages by query',
      inputSchema: {
        type: 'object',
        properties: { query: { type: 'string' }, limit: { type: 'integer', default: 10 } },
        required: ['query'],
      },
    });
    expect(report.refused).toBe('Invalid arguments for search_pages: query: is required');
  });

  test('the bare decorator takes name and description from the name of the method (000-19)', () => {
    expect(report.tools[1]).toMatchObject({ name: 'list_recent_pages', description: 'List recent pages.' });
    expect(report.recent).toEqual({ count: 1 });
  });

  test('the tools of a class share the client that the class was given (000-22)', () => {
    const page = { id: 'p1', title: 'Meeting notes', url: 'https://notion.example/p1' };
    expect(report.search).toEqual({ results: [page] });
    expect(report.page).toEqual({ ...page, for: 'local' });
    expect(report.requests).toEqual([
      { query: 'notes', page_size: 10 },
      { query: 'p1', page_size: 1 },
      { query: '', page_size: 100 },
    ]);
  });
});

/** Compiles the fixture as a user's project would, with this package installed, and runs what comes out. */
async function compiled(...flags: readonly string[]): Promise<Report> {
  const project = await mkdtemp(join(tmpdir(), 'toolcrib-decorators-'));
  try {
    await cp(fixtures, join(project, 'src'), { recursive: true });
    await writeFile(join(project, 'package.json'), '{ "type": "module" }');
    await mkdir(join(project, 'node_modules'));
    await symlink(root, join(project, 'node_modules', 'toolcrib'), 'junction');
    const options =
      '--module nodenext --target es2022 --strict --rewriteRelativeImportExtensions --skipLibCheck';
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const files = ['--outDir', 'out', '--rootDir', 'src', 'src/report.ts'];
    await run(process.execPath, [tsc, ...options.split(' '), ...flags, ...files], { cwd: project });
    const script = "import { report } from './out/report.js'; console.log(JSON.stringify(await report()));";
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], { cwd: project });
    return JSON.parse(stdout) as Report;
  } finally {
    await rm(project, { recursive: true, force: true });
  }
}

/** Loads the fixture as it is, compiled on the way in. */
async function loaded(): Promise<Report> {
  const jiti = createJiti(import.meta.url, { fsCache: false });
  const { report } = await jiti.import<{ report: () => Promise<Report> }>(join(fixtures, 'report.ts'));
  return report();
}
