import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { problemsOf, type Check } from './suite.ts';

const manifest = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json');
const root = join(import.meta.dirname, '../..');

/** How one scenario of the client suite ended. */
export interface ClientRun {
  /** What keeps it from passing: checks, or what the suite printed when it failed. */
  readonly problems: readonly string[];
  /** How the client itself ended; one that crashed may look good to the suite. */
  readonly exits: string;
}

/** Runs one scenario of the client suite against a client under `command`. */
export async function runClientScenario(
  command: string,
  scenario: string,
  revision: string | undefined,
): Promise<ClientRun> {
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
      `${process.execPath} ${command}`,
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
  // A scenario with a "/" in its name has its results a folder deeper.
  const found = (await readdir(join(output, 'results'), { recursive: true })).find((name) =>
    name.endsWith('checks.json'),
  );
  const checks = JSON.parse(await readFile(join(output, 'results', found ?? ''), 'utf8')) as Check[];
  // On the newest revision there is no handshake whose headers could be looked at.
  const seen = checks.filter(
    ({ status, description }) => status !== 'SKIPPED' || !/initialize/.test(description),
  );
  return {
    problems: [...problemsOf({ name: scenario, checks: seen }), ...(child.exitCode === 0 ? [] : [log])],
    exits: await readFile(exits, 'utf8'),
  };
}
