import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { z } from 'zod';
import { propertyRuns } from '../../../test/property-runs.ts';
import { ToolRegistry } from '../../core/registry.ts';
import { compileArguments } from './arguments.ts';
import { commandOptions, type runCommandOptions } from './options.ts';
import { runCommandTool } from './run-command.ts';

type Commands = z.input<typeof runCommandOptions>['commands'];

interface Reply {
  readonly error?: string;
  readonly exit_code: number | null;
  readonly stdout: string;
}

function open(commands: Commands, { folder } = { folder: tmpdir() }) {
  const registry = new ToolRegistry().registerTool(runCommandTool({ folder, commands }));
  const run = (command: string, args: readonly string[]) =>
    registry.execute('run_command', { command, arguments: args }) as Promise<Reply>;
  return { run };
}

const file = { name: 'file', description: 'A file.', path: true };
const read = { file: '/usr/bin/cat', description: 'Reads a file.', arguments: [file] };
const print = { file: '/usr/bin/printf', description: 'Shows its arguments.', args: ['[%s]'] };
const escapes = (outside: string): string[] => [
  outside,
  `../${outside.split('/').at(-1)}`,
  `a/../../${outside.split('/').at(-1)}`,
  `./../${outside.split('/').at(-1)}`,
  '..',
  '',
];

/** A working folder with a file in it, and a secret beside it. */
function withSecret() {
  const outer = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-paths-')));
  onTestFinished(() => rmSync(outer, { recursive: true, force: true }));
  const folder = join(outer, 'inner');
  mkdirSync(join(folder, 'a'), { recursive: true });
  writeFileSync(join(outer, 'secret'), 'outside');
  writeFileSync(join(folder, 'a', 'note'), 'inside');
  return { folder, secret: join(outer, 'secret') };
}

test('a file below the working folder can be read, and a file elsewhere cannot (003-01)', async () => {
  const { folder, secret } = withSecret();
  const { run } = open({ read }, { folder });
  expect((await run('read', ['a/note'])).stdout).toBe('inside');
  for (const path of escapes(secret)) await expect(run('read', [path])).rejects.toThrow('without ".."');
});

test('control: without path: true the same arguments leave the folder (003-01)', async () => {
  const { folder, secret } = withSecret();
  const naive = { ...read, arguments: [{ description: 'A file.', pattern: '.+' }] };
  const { run } = open({ read: naive }, { folder });
  for (const path of escapes(secret).slice(0, 4)) expect((await run('read', [path])).stdout).toBe('outside');
});

/** Ways to the outside that are links, each under a name of its own. */
function setLinks(folder: string, secret: string): string[] {
  symlinkSync(secret, join(folder, 'absolute'));
  symlinkSync('../secret', join(folder, 'relative'));
  symlinkSync('relative', join(folder, 'chain'));
  symlinkSync('..', join(folder, 'up'));
  symlinkSync('../..', join(folder, 'a', 'up'));
  return ['absolute', 'relative', 'chain', 'up/secret', 'a/up/secret'];
}

const outOfFolder = 'must stay below the working folder, also where it goes through a link';

test('no symbolic link leads a path out of the working folder, and a link that stays inside works (003-01)', async () => {
  const { folder, secret } = withSecret();
  const links = setLinks(folder, secret);
  symlinkSync('a/note', join(folder, 'harmless'));
  const { run } = open({ read }, { folder });
  for (const path of [...links, 'up', 'up/none'])
    await expect(run('read', [path])).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: `Invalid arguments for run_command: arguments[0] (file) ${outOfFolder}.`,
    });
  expect((await run('read', ['harmless'])).stdout).toBe('inside');
  expect((await run('read', ['a/none'])).error).toBe('Command failed');
});

test('control: a program that gets those links reads files outside (003-01)', async () => {
  const { folder, secret } = withSecret();
  const naive = { ...read, arguments: [{ description: 'A file.', pattern: '.+' }] };
  const { run } = open({ read: naive }, { folder });
  for (const path of setLinks(folder, secret)) expect((await run('read', [path])).stdout).toBe('outside');
});

test('a link to a missing file is refused, because a program could create it (003-01)', async () => {
  const { folder, secret } = withSecret();
  symlinkSync('../made', join(folder, 'dangling'));
  symlinkSync('loop', join(folder, 'loop'));
  const make = { file: '/usr/bin/touch', description: 'Makes a file.', args: ['--'] };
  const { run } = open(
    {
      make: { ...make, arguments: [file] },
      naive: { ...make, arguments: [{ description: 'A file.', pattern: '.+' }] },
    },
    { folder },
  );
  for (const path of ['dangling', 'dangling/x', 'loop'])
    await expect(run('make', [path])).rejects.toThrow(outOfFolder);
  expect(existsSync(join(secret, '../made'))).toBe(false);
  expect((await run('make', ['new'])).exit_code).toBe(0);
  expect(existsSync(join(folder, 'new'))).toBe(true);
  // The negative control: without the check, the link does lead out.
  expect((await run('naive', ['dangling'])).exit_code).toBe(0);
  expect(existsSync(join(folder, '../made'))).toBe(true);
});

test('the rest arguments follow the same rule (003-01)', async () => {
  const { folder, secret } = withSecret();
  setLinks(folder, secret);
  const { run } = open({ read: { ...read, rest: { description: 'Files.', path: true } } }, { folder });
  await expect(run('read', ['a/note', 'a/note', 'chain'])).rejects.toThrow(`arguments[2] ${outOfFolder}`);
});

test('a path cannot be interpreted as a URL, a list of arguments or an option (003-01)', async () => {
  const { run } = open({ show: { ...print, arguments: [file] } });
  expect((await run('show', ['file:///etc/passwd'])).stdout).toBe('[./file:///etc/passwd]');
  expect((await run('show', ['@/etc/passwd'])).stdout).toBe('[./@/etc/passwd]');
  await expect(run('show', ['-rf'])).rejects.toThrow('may not begin with "-"');
});

test('every path is refused or lies below the folder (003-01)', () => {
  const readArguments = compileArguments('read', commandOptions.parse(read));
  const parts = fc.constantFrom('..', '.', '/', '//', 'a', '-', '\\', '%2e', '\0', '~', '@', ':', ' ', '\n');
  const hostile = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(parts).map((all) => all.join('')),
  );
  fc.assert(
    fc.property(hostile, (path) => {
      let given = '';
      try {
        given = readArguments([path])[0]!.text;
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid_arguments' });
        return;
      }
      expect(given).toBe(`./${path}`);
      expect(`${resolve('/work/folder', given)}/`.startsWith('/work/folder/')).toBe(true);
    }),
    { numRuns: propertyRuns() },
  );
});
