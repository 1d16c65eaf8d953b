import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { problemsOf, type Check } from './suite.ts';

const OLD = ['initialize', 'tools_call', 'elicitation-sep1034-client-defaults', 'sse-retry'];
const NEW = [
  'tools_call',
  'request-metadata',
  'sep-2322-client-request-state',
  'http-standard-headers',
  'http-custom-headers',
  'http-invalid-tool-headers',
  'json-schema-ref-no-deref',
  'json-schema-2020-12-preservation',
];
const SKILLS = ['no-prefetch', 'verify-digest', 'verify-size', 'verify-frontmatter'].map(
  (name) => `sep-2640-client-${name}`,
);

const manifest = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
const root = join(import.meta.dirname, '../..');

test.each([
  ...OLD.map((name) => [name, '2025-11-25'] as const),
  ...NEW.map((name) => [name, '2026-07-28'] as const),
  ...SKILLS.map((name) => [name, undefined] as const),
])('the client passes %s of the official suite (%s)', { timeout: 60_000 }, async (scenario, revision) => {
  const output = await mkdtemp(join(tmpdir(), 'toolcrib-client-conformance-'));
  onTestFinished(() => rm(output, { recursive: true, force: true }));
  const exits = join(output, 'exits');
  const { bin } = JSON.parse(await readFile(manifest, 'utf8')) as { bin: { conformance: string } };
  await writeFile(join(output, 'empty.yml'), 'server: []\nclient: []\n');
  const child = spawn(
    process.execPath,
    [
      '--import',
      new URL('glob-hook.mjs', import.meta.url).href,
      join(dirname(manifest), bin.conformance),
      'client',
      '--command',
      `${process.execPath} test/conformance/client.mjs`,
      '--scenario',
      scenario,
      ...(revision === undefined ? [] : ['--spec-version', revision]),
      '--expected-failures',
      join(output, 'empty.yml'),
      '-o',
      join(output, 'results'),
    ],
    { cwd: root, env: { ...process.env, TOOLCRIB_EXITS: exits } },
  );
  const [log] = await Promise.all([text(child.stdout), once(child, 'close')]);
  const [folder = ''] = await readdir(join(output, 'results'));
  const checks = JSON.parse(
    await readFile(join(output, 'results', folder, 'checks.json'), 'utf8'),
  ) as Check[];
  // On the newest revision there is no handshake whose headers could be looked at.
  const seen = checks.filter(
    ({ status, description }) => status !== 'SKIPPED' || !/initialize/.test(description),
  );
  expect([...problemsOf({ name: scenario, checks: seen }), child.exitCode === 0 ? [] : log].flat()).toEqual(
    [],
  );
  // A client that crashed may look good to the suite.
  expect(await readFile(exits, 'utf8')).toBe('0\n');
});
