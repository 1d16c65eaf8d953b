import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { firstFew } from '../property-runs.ts';
import { runCommandLine, runProcess, type Run } from './run-command-line.ts';

const COMMANDS = [
  ['serve', '--listen', '127.0.0.1:0'],
  ['tenants', 'create', 'acme'],
  ['keys', 'list'],
  ['audit', 'verify'],
];

const withoutFolder: readonly [config: string, place: string, named: string][] = [
  ['store: { secrets: ./no/dir/s }', '1:19: store.secrets', 'no/dir'],
  ['store: { url: "sqlite:./no/dir/x.db" }', '1:15: store.url', 'no/dir'],
];

test.each(firstFew(withoutFolder, 1))(
  'every command names a missing folder, and check warns of it: %s',
  async (config, place, named) => {
    const { run, folder } = deployment(config);
    const what = `toolcrib.yaml:${place} names a file in a folder that does not exist; make ${join(folder, named)}.`;
    for (const command of COMMANDS)
      expect(await run(...command)).toEqual({
        code: 1,
        output: '',
        complaints: `toolcrib: ${join(folder, what)}\n`,
      });
    expect(readdirSync(folder)).toEqual(['toolcrib.yaml']);
    const { code, output } = await run('check');
    expect(code).toBe(0);
    expect(output).toContain(`${what.replace(': ', ': warning: ')}\n`);
  },
  60_000,
);

const unusable: readonly [config: string, what: string][] = [
  [
    'store: { url: "sqlite:./diary" }',
    'store.url names a file that is not a database; name another file, which need not be there yet.',
  ],
  ['store: { secrets: ./taken }', 'store.secrets names a folder; name a file.'],
  ['store: { url: "sqlite:./taken" }', 'store.url names a folder; name a file.'],
  [
    'stages: { audit: { checkpoints: [./taken] } }',
    'stages.audit.checkpoints[0] names a folder; name a file.',
  ],
];

test.each(firstFew(unusable, 1))(
  'a path that cannot be a file of the store is refused by every command and by check: %s',
  async (config, what) => {
    const { run, folder } = deployment(config);
    mkdirSync(join(folder, 'taken'));
    writeFileSync(join(folder, 'diary'), 'Dear diary, '.repeat(100));
    const before = readdirSync(folder);
    for (const command of COMMANDS) {
      const { code, output, complaints } = await run(...command);
      expect({ code, output }).toEqual({ code: 1, output: '' });
      expect(complaints).toMatch(/^toolcrib: \S+toolcrib\.yaml:1:\d+: [^\n]+\n$/);
      expect(complaints).toContain(what);
    }
    const { code, output } = await run('check');
    expect(code).toBe(1);
    expect(output).toContain(what);
    expect(readdirSync(folder)).toEqual(before);
  },
  60_000,
);

test('a missing folder for the copy of checkpoints is a warning, and the command works', async () => {
  const { run, runAlone } = deployment('stages: { audit: { checkpoints: [./no/c] } }');
  // Its store complains of the copy once more when the command is over.
  expect((await runAlone(['tenants', 'create', 'acme'])).code).toBe(0);
  const { code, output } = await run('check');
  expect(code).toBe(0);
  expect(output).toContain(
    'warning: stages.audit.checkpoints[0] names a file in a folder that does not exist',
  );
}, 60_000);

test('E4 no message about the files of a store repeats text from outside', async () => {
  const { runAlone, folder } = deployment(
    'store: { url: "sqlite:${PLACE}/x.db", secrets: "${PLACE}/x.secrets" }',
  );
  const complaintsIn = async (place: string): Promise<string> => {
    const said: string[] = [];
    for (const command of [...COMMANDS, ['check'], ['audit', 'tail']]) {
      const { output, complaints } = await runAlone(command, { PLACE: place });
      said.push(output + complaints);
    }
    expect(said.every((text) => text !== '')).toBe(true);
    return said.join('');
  };
  const missing = await complaintsIn('/nonexistent/sup3rsecret');
  expect(missing).toContain('store.url names a file in a folder that does not exist; make the folder.');
  expect(missing).not.toContain('sup3r');

  const there = join(folder, 'sup3rsecret');
  mkdirSync(there);
  writeFileSync(join(there, 'x.db'), 'Dear diary, '.repeat(100));
  writeFileSync(join(there, 'x.secrets'), '{}', { mode: 0o600 });
  const damaged = await complaintsIn(there);
  expect(damaged).toContain('${...}/x.secrets lacks a secret');
  expect(damaged).toContain('${...}/x.db cannot be opened as a database');
  expect(damaged).not.toContain('sup3r');
}, 60_000);

function deployment(config: string) {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-places-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'toolcrib.yaml');
  writeFileSync(file, `${config}\n`);
  const run = (...args: readonly string[]): Promise<Run> => runCommandLine([...args, '--config', file]);
  /** In a process of its own, which no other command has told what to conceal. */
  const runAlone = (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Run> =>
    runProcess([...args, '--config', file], env);
  return { folder, run, runAlone };
}
