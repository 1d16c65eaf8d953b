import { exec, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { z } from 'zod';
import { propertyRuns } from '../../../test/property-runs.ts';
import { localCaller } from '../../core/caller.ts';
import type { ToolContext } from '../../core/context.ts';
import { ToolRegistry } from '../../core/registry.ts';
import type { runCommandOptions } from './options.ts';
import { runCommandTool } from './run-command.ts';

type Options = z.input<typeof runCommandOptions>;
type Command = Options['commands'][string];

interface Reply {
  readonly error?: string;
  readonly exit_code: number | null;
  readonly signal?: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
}

const PRINT = { file: '/usr/bin/printf', description: 'Shows its arguments.', args: ['[%s]'] };
const anything = { description: 'Anything.', pattern: '(?s).*', allowDash: true, max: 1000 };

function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-command-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function script(folder: string, text: string): string {
  const file = join(folder, `script-${readdirSync(folder).length}`);
  writeFileSync(file, `#!/bin/sh\nPATH=/usr/bin:/bin\n${text}\n`, { mode: 0o755 });
  return file;
}

function open(commands: Record<string, Command>, options: Partial<Options> = {}) {
  const tool = runCommandTool({ folder: tmpdir(), ...options, commands });
  const registry = new ToolRegistry().registerTool(tool);
  const run = (command: string, args: readonly string[] = [], context: Partial<ToolContext> = {}) =>
    registry.execute('run_command', { command, arguments: args }, context) as Promise<Reply>;
  return { tool, registry, run };
}

/** A command that is a script, which writes what it is told to. */
function openScript(text: string, options: Partial<Options> = {}) {
  const folder = scratch();
  const command = { file: script(folder, text), description: 'A script.' };
  return { folder, ...open({ go: command }, { folder, ...options }) };
}

function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX] /s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

function zombiesOfThisProcess(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return new RegExp(`\\) Z ${process.pid} `).test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
      } catch {
        return false;
      }
    });
}

async function pidIn(file: string): Promise<number> {
  return vi.waitFor(
    () => {
      const pid = Number(readFileSync(file, 'utf8').trim());
      expect(pid).toBeGreaterThan(0);
      return pid;
    },
    { timeout: 5_000 },
  );
}

describe('run_command', () => {
  test('runs a named program with fixed arguments and arguments of the model (003-01)', async () => {
    const word = { name: 'word', description: 'A word.', pattern: '[a-z]+' };
    const { run } = open({ show: { ...PRINT, args: ['<%s>', 'first'], arguments: [word] } });
    expect(await run('show', ['second'])).toEqual({
      command: 'show',
      exit_code: 0,
      stdout: '<first><second>',
      stderr: '',
      truncated: false,
      duration_ms: expect.any(Number),
    });
  });

  test('runs only named programs (003-01)', async () => {
    const { run } = open({ show: PRINT });
    for (const name of ['ls', '/usr/bin/printf', 'show ', 'SHOW', '__proto__', 'constructor', ''])
      await expect(run(name)).rejects.toMatchObject({ code: 'invalid_arguments' });
  });

  test('tells the model its commands and their arguments', () => {
    const { registry } = open({
      show: {
        ...PRINT,
        description: 'Shows words.',
        arguments: [{ name: 'file', description: 'Where.', path: true }],
        rest: { description: 'A word.', pattern: '[a-z]+', max: 3 },
      },
    });
    const [tool] = registry.getToolsList().tools;
    const { command } = tool!.inputSchema.properties as { command: { enum: string[]; description: string } };
    expect(command.enum).toEqual(['show']);
    expect(command.description).toBe(
      [
        'The command, by its name:',
        '- show <file> ...: Shows words.',
        '  - <file>: Where. (a relative path)',
        '  - up to 3 more: A word. (matches [a-z]+)',
      ].join('\n'),
    );
  });

  test.each([
    [[true, true], true],
    [[true, false], false],
  ])('is marked as read-only only when every command is: %j', (readOnly, isReadOnly) => {
    const commands = readOnly.map((one, index) => [`c${index}`, { ...PRINT, readOnly: one }]);
    expect(open(Object.fromEntries(commands)).tool.annotations).toEqual({
      readOnlyHint: isReadOnly,
      destructiveHint: !isReadOnly,
      idempotentHint: isReadOnly,
      openWorldHint: true,
    });
  });

  test('a non-zero exit code is an error with the whole output of the program', async () => {
    const { run } = openScript('echo half; echo "no such article" >&2; exit 3');
    expect(await run('go')).toMatchObject({
      error: 'Command failed',
      exit_code: 3,
      stdout: 'half\n',
      stderr: 'no such article\n',
    });
  });

  test('a program that is killed is an error that names the signal', async () => {
    const { run } = openScript('kill -SEGV $$');
    expect(await run('go')).toMatchObject({ error: 'Command failed', exit_code: null, signal: 'SIGSEGV' });
  });

  test('a missing program is an error without a path', async () => {
    const { folder, run } = openScript('true');
    rmSync(folder, { recursive: true });
    const failure = await run('go').catch((error: unknown) => error as Error & { code: string });
    expect(failure).toMatchObject({
      code: 'tool_failed',
      message: 'go could not be started; ask the operator to check it.',
    });
  });

  test('output that is not UTF-8 is shown as far as possible', async () => {
    const { run } = openScript(String.raw`printf 'a\377\303b\000c'`);
    expect((await run('go')).stdout).toBe('a\uFFFD\uFFFDb\0c');
  });

  test('standard input is empty', async () => {
    const { run } = openScript('cat; echo "then $?"');
    expect((await run('go')).stdout).toBe('then 0\n');
  });
});

const probes = [
  '; touch MARK',
  '| touch MARK',
  '& touch MARK',
  '&& touch MARK',
  '$(touch MARK)',
  '`touch MARK`',
  '\ntouch MARK\n',
  '> MARK',
  '"; touch MARK; "',
  "'; touch MARK; '",
];

describe('C1 text of a model is never read by a shell', () => {
  test.each(probes)('%j arrives unchanged (003-01)', async (probe) => {
    const folder = scratch();
    const { run } = open({ show: { ...PRINT, rest: anything } }, { folder });
    expect((await run('show', [probe])).stdout).toBe(`[${probe}]`);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('control: with a shell, these probes have an effect', async () => {
    for (const probe of probes) {
      const folder = scratch();
      const quote = /^["']?/.exec(probe)![0];
      await promisify(exec)(`printf %s ${quote}${probe}${quote}`, { cwd: folder }).catch(() => undefined);
      expect([probe, ...readdirSync(folder)]).toEqual([probe, 'MARK']);
    }
  });

  test('any text arrives byte for byte, as one argument', async () => {
    const { run } = open({ show: { ...PRINT, rest: anything } });
    const text = fc.string({ unit: 'binary', maxLength: 40 }).filter((one) => !one.includes('\0'));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 5 }), async (args) => {
        expect((await run('show', args)).stdout).toBe(args.map((one) => `[${one}]`).join(''));
      }),
      { numRuns: propertyRuns(60) },
    );
  });
});

describe('C1 arguments must match their patterns', () => {
  const word = { name: 'word', description: 'A word.', pattern: '[a-z]+' };
  const loose = { name: 'text', description: 'Text.', pattern: '(?s).*' };

  test.each(['--output=/etc/x', '-rf', '-', '--upload-pack=touch MARK', '-oProxyCommand=x'])(
    '%j is refused, however loose the pattern',
    async (argument) => {
      const { run } = open({ show: { ...PRINT, arguments: [loose] } });
      await expect(run('show', [argument])).rejects.toMatchObject({
        code: 'invalid_arguments',
        message: 'Invalid arguments for run_command: arguments[0] (text) may not begin with "-".',
      });
    },
  );

  test('control: a program reads such an argument as an option', async () => {
    const folder = scratch();
    const rest = { description: 'Text.', pattern: '.*', allowDash: true };
    const { run } = open(
      { sort: { file: '/usr/bin/sort', description: 'Sorts.', args: ['/dev/null'], rest } },
      { folder },
    );
    expect(await run('sort', ['--output=MARK'])).toMatchObject({ exit_code: 0 });
    expect(readdirSync(folder)).toEqual(['MARK']);
  });

  test('an argument that may begin with a dash is still checked against its pattern', async () => {
    const flag = { description: 'How.', pattern: '-[nr]', allowDash: true };
    const { run } = open({ show: { ...PRINT, arguments: [flag] } });
    expect((await run('show', ['-n'])).stdout).toBe('[-n]');
    await expect(run('show', ['-nx'])).rejects.toMatchObject({ code: 'invalid_arguments' });
  });

  test.each(['', 'Ab', 'a b', 'a\n', '\na', 'a;', 'a\0', '\ud800'])(
    '%j does not match a pattern for a word as a whole',
    async (argument) => {
      const { run } = open({ show: { ...PRINT, arguments: [word] } });
      await expect(run('show', [argument])).rejects.toMatchObject({ code: 'invalid_arguments' });
    },
  );

  test('an argument of over 4,096 characters is refused', async () => {
    const { run } = open({ show: { ...PRINT, arguments: [word] } });
    expect((await run('show', ['a'.repeat(4_096)])).exit_code).toBe(0);
    await expect(run('show', ['a'.repeat(4_097)])).rejects.toMatchObject({ code: 'invalid_arguments' });
  });

  test('NUL and unpaired surrogates are always refused', async () => {
    const { run } = open({ show: { ...PRINT, rest: anything } });
    for (const argument of ['a\0b', '\0', '\ud800', 'x\udfff'])
      await expect(run('show', [argument])).rejects.toMatchObject({
        message: expect.stringMatching(/holds a character no program can be given/),
      });
  });

  test('too few, too many and 10,000 arguments are refused', async () => {
    const { run } = open({
      none: PRINT,
      some: { ...PRINT, arguments: [word], rest: { description: 'A word.', pattern: '[a-z]+', max: 2 } },
    });
    await expect(run('none', ['a'])).rejects.toThrow('none takes no arguments, not 1.');
    await expect(run('some', [])).rejects.toThrow('some takes 1 to 3 arguments, not 0.');
    await expect(run('some', ['a', 'b', 'c', 'd'])).rejects.toMatchObject({ code: 'invalid_arguments' });
    const many = Array.from({ length: 10_000 }, () => 'a');
    await expect(run('some', many)).rejects.toMatchObject({ code: 'invalid_arguments' });
  });

  test('arguments that are too long together are refused before a program is started', async () => {
    const { run } = open({ show: { ...PRINT, rest: anything } });
    const large = Array.from({ length: 1_000 }, () => 'a'.repeat(4_000));
    await expect(run('show', large)).rejects.toThrow('Together they may have 131072 bytes at most.');
  });

  test('a pattern on which another engine backtracks for ages is checked at once', async () => {
    const nested = { description: 'Letters.', pattern: '(a+)+(a*)*' };
    const { run } = open({ show: { ...PRINT, arguments: [nested] } });
    await expect(run('show', [`${'a'.repeat(4_000)}!`])).rejects.toMatchObject({ code: 'invalid_arguments' });
  });

  test('control: that pattern keeps the engine of JavaScript busy', () => {
    const match = "/^(?:(a+)+(a*)*)$/.test('a'.repeat(4_000) + '!')";
    expect(() => runInNewContext(match, {}, { timeout: 100 })).toThrow(/timed out/);
  });
});

describe('C2 a command gets only what it was given', () => {
  const show = { file: '/usr/bin/env', description: 'Shows the environment.' };

  test('the environment is empty, without PATH', async () => {
    vi.stubEnv('TOOLCRIB_CANARY', 'canary');
    vi.stubEnv('NODE_V8_COVERAGE', '/tmp/canary');
    onTestFinished(() => void vi.unstubAllEnvs());
    expect((await open({ show }).run('show')).stdout).toBe('');
    // The negative control: a program that is started without care sees it.
    const naive = await promisify(exec)('/usr/bin/env');
    expect(naive.stdout).toContain('TOOLCRIB_CANARY=canary');
  });

  test('the environment has the variables of the options', async () => {
    const { run } = open({ show }, { env: { LANG: 'C.UTF-8' } });
    expect((await run('show')).stdout).toBe('LANG=C.UTF-8\n');
  });

  test('a command runs in the configured folder', async () => {
    const folder = scratch();
    const { run } = open({ where: { file: '/usr/bin/pwd', description: 'Tells the folder.' } }, { folder });
    expect((await run('where')).stdout).toBe(`${folder}\n`);
  });

  test('a command has no open files of this process', async () => {
    const folder = scratch();
    writeFileSync(join(folder, 'secret'), '');
    const open3 = openSync(join(folder, 'secret'), 'r');
    onTestFinished(() => closeSync(open3));
    const list = { file: '/usr/bin/ls', description: 'Lists.', args: ['-l', '/proc/self/fd'] };
    expect((await open({ list }).run('list')).stdout).not.toContain('secret');
    const naive = spawn('/usr/bin/ls', ['-l', '/proc/self/fd'], {
      stdio: ['ignore', 'pipe', 'ignore', open3],
    });
    expect(String(await naive.stdout!.toArray())).toContain('secret');
  });
});

describe('each tenant has a folder of its own', () => {
  const where = { file: '/usr/bin/pwd', description: 'Tells the folder.' };
  const tenant = (id: string) => ({ tenant: { ...localCaller.tenant, id } });

  test('no tenant can read the folder of another (003-01)', async () => {
    const base = scratch();
    mkdirSync(join(base, 'north', 'files'), { recursive: true });
    mkdirSync(join(base, 'files'));
    symlinkSync(join(base, 'north'), join(base, 'south'));
    const { run } = open({ where }, { folder: join(base, '{tenant}', 'files') });
    expect((await run('where', [], tenant('north'))).stdout).toBe(`${base}/north/files\n`);
    for (const id of ['south', 'nobody'])
      await expect(run('where', [], tenant(id))).rejects.toMatchObject({
        code: 'refused',
        message: 'There is no working folder for this tenant; ask the operator to make one.',
      });
    for (const id of ['.', '..', '../north', 'north/../north', '', 'north\0', '.north', 'con', 'north.'])
      await expect(run('where', [], tenant(id))).rejects.toMatchObject({
        code: 'refused',
        message: 'The id of your tenant cannot be the name of a folder; ask the operator for another one.',
      });
  });
});

describe('D5 no process is left running', () => {
  // Its first process, and one it starts and forgets, which holds the pipes; neither ends when asked to.
  const stubborn =
    'trap "" TERM; (trap "" TERM; echo $$ >first; sh -c "echo \\$PPID" >second; while :; do sleep 0.1; done) & wait';

  test('cancelling ends the whole process group, even a process that ignores signals', async () => {
    const { folder, run } = openScript(stubborn, { timeoutSeconds: 60 });
    const stop = new AbortController();
    const running = run('go', [], { signal: stop.signal });
    const pids = [await pidIn(join(folder, 'first')), await pidIn(join(folder, 'second'))];
    // The negative control: until then they do run.
    expect(pids.map(isAlive)).toEqual([true, true]);
    stop.abort(new Error('The client went away.'));
    await expect(running).rejects.toThrow('The client went away.');
    expect(pids.map(isAlive)).toEqual([false, false]);
    expect(zombiesOfThisProcess()).toEqual([]);
  });

  test('control: ending only the first process leaves the second running', async () => {
    const folder = scratch();
    const child = spawn(script(folder, stubborn), { cwd: folder, detached: true, stdio: 'ignore' });
    const second = await pidIn(join(folder, 'second'));
    onTestFinished(() => void process.kill(-child.pid!, 'SIGKILL'));
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isAlive(second)).toBe(true);
  });

  test('a call that was cancelled before it began starts nothing', async () => {
    const { folder, run } = openScript('touch started');
    await expect(run('go', [], { signal: AbortSignal.abort(new Error('Too late.')) })).rejects.toThrow(
      'Too late.',
    );
    expect(existsSync(join(folder, 'started'))).toBe(false);
  });

  test('a command that takes too long is ended, and its output so far is returned', async () => {
    const { folder, run } = openScript(`echo begun; ${stubborn}`, { timeoutSeconds: 0.5 });
    expect(await run('go')).toMatchObject({
      error: 'Command timed out after 0.5 seconds',
      exit_code: null,
      stdout: 'begun\n',
    });
    expect(isAlive(await pidIn(join(folder, 'second')))).toBe(false);
  });

  test('processes that a command leaves behind are ended, and do not delay the call', async () => {
    const { folder, run } = openScript('sleep 1000 & echo $! >left; echo done');
    expect(await run('go')).toMatchObject({ exit_code: 0, stdout: 'done\n' });
    expect(isAlive(await pidIn(join(folder, 'left')))).toBe(false);
  });

  test('a process that left the group does not delay the call either', async () => {
    const { folder, run } = openScript(
      'setsid sh -c "echo \\$\\$ >left; exec sleep 1000" & until [ -s left ]; do sleep 0.05; done; echo done',
    );
    expect(await run('go')).toMatchObject({ exit_code: 0, stdout: 'done\n' });
    const left = await pidIn(join(folder, 'left'));
    process.kill(left, 'SIGKILL');
  });

  test('closing lets a running command finish', async () => {
    const { folder, tool, run } = openScript(
      'touch started; until [ -e go ]; do sleep 0.05; done; echo done',
    );
    const running = run('go');
    await vi.waitFor(() => expect(existsSync(join(folder, 'started'))).toBe(true), { timeout: 5_000 });
    let isClosed = false;
    const closing = tool.close().then(() => (isClosed = true));
    await new Promise((done) => setImmediate(done));
    expect(isClosed).toBe(false);
    writeFileSync(join(folder, 'go'), '');
    expect(await running).toMatchObject({ stdout: 'done\n' });
    await closing;
  });

  test('when this process ends, its commands end too', async () => {
    const folder = scratch();
    const sleeper = script(folder, 'echo $$ >pid; exec sleep 1000');
    const program = `
      import { runCommandTool } from ${JSON.stringify(resolve(import.meta.dirname, 'run-command.ts'))};
      import { ToolRegistry } from ${JSON.stringify(resolve(import.meta.dirname, '../../core/registry.ts'))};
      import { existsSync } from 'node:fs';
      const commands = { sleep: { file: ${JSON.stringify(sleeper)}, description: 'Sleeps.' } };
      const tool = runCommandTool({ folder: ${JSON.stringify(folder)}, commands, timeoutSeconds: 60 });
      void new ToolRegistry().registerTool(tool).execute('run_command', { command: 'sleep' });
      setInterval(() => existsSync(${JSON.stringify(join(folder, 'end'))}) && process.exit(7), 20);
    `;
    const file = join(folder, 'program.ts');
    writeFileSync(file, program);
    const jiti = resolve(import.meta.dirname, '../../../node_modules/jiti/lib/jiti-cli.mjs');
    const child = spawn(process.execPath, [jiti, file], { stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const pid = await vi.waitFor(() => pidIn(join(folder, 'pid')), { timeout: 15_000 });
    expect(isAlive(pid)).toBe(true);
    writeFileSync(join(folder, 'end'), '');
    expect(await exited).toEqual([7, null]);
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), { timeout: 5_000 });
  });
});

describe('D5 output is limited', () => {
  test('long output is cut, says so, and lets the program finish', async () => {
    const { run } = openScript('yes | head -c 300000; echo end >&2', { maxOutputBytes: 1_000 });
    const { stdout, stderr, truncated, exit_code: exitCode } = await run('go');
    expect(stdout).toBe(`${'y\n'.repeat(500)}\n[cut here: 1000 of 300000 bytes are shown]`);
    expect({ stderr, truncated, exitCode }).toEqual({ stderr: 'end\n', truncated: true, exitCode: 0 });
  });

  test('output of exactly the limit is not cut', async () => {
    const { run } = openScript('yes | head -c 1000', { maxOutputBytes: 1_000 });
    expect(await run('go')).toMatchObject({ stdout: 'y\n'.repeat(500), truncated: false });
  });

  test('a cut never splits a character', async () => {
    const { run } = openScript(String.raw`printf '\303\244\303\244\303\244'`, { maxOutputBytes: 3 });
    expect((await run('go')).stdout).toBe('ä\n[cut here: 3 of 6 bytes are shown]');
  });

  test('a program that never stops writing is ended', async () => {
    const { run } = open({ flood: { file: '/usr/bin/yes', description: 'Floods.' } }, { timeoutSeconds: 60 });
    const { error, stdout, truncated } = await run('flood');
    expect({ error, truncated }).toEqual({
      error: 'Command wrote too much and was stopped',
      truncated: true,
    });
    expect(stdout.length).toBeLessThan(70_000);
  });
});

describe('C1 an unsafe setup is refused at the start', () => {
  const folder = tmpdir();
  const make = (command: Partial<Command>, options: Partial<Options> = {}) =>
    runCommandTool({ folder, ...options, commands: { show: { ...PRINT, ...command } } });

  test.each([
    ['a relative path', 'printf', 'absolute path'],
    ['a file that is not there', '/usr/bin/there-is-no-such', 'names no file'],
    ['a folder', '/usr/bin', 'names no file'],
    ['a device', '/dev/null', 'names no file'],
    ['a file that is no program', '/etc/passwd', 'may not be executed'],
    ['a shell', '/bin/sh', 'is a shell'],
    ['another shell', '/usr/bin/bash', 'is a shell'],
  ])('%s', (_what, file, complaint) => {
    expect(() => make({ file })).toThrow(
      expect.objectContaining({ code: 'invalid_setup', message: expect.stringContaining(complaint) }),
    );
  });

  test('a shell under another name', () => {
    const own = scratch();
    symlinkSync('/bin/sh', join(own, 'harmless'));
    expect(() => make({ file: join(own, 'harmless') })).toThrow('is a shell');
  });

  test('a program that everybody can write', () => {
    const own = scratch();
    const file = script(own, 'true');
    expect(() => make({ file })).not.toThrow();
    chmodSync(file, 0o777);
    expect(() => make({ file })).toThrow('can be written by everybody');
  });

  test.each(['(', 'a)|(?:b', '(?=a)', String.raw`(a)\1`])('the pattern %s', (pattern) => {
    expect(() => make({ arguments: [{ description: 'Text.', pattern }] })).toThrow(
      'commands.show.arguments[0].pattern is not a pattern that RE2 can read',
    );
  });

  test('an argument without a pattern, and no commands at all', () => {
    expect(() => make({ arguments: [{ description: 'Text.' }] })).toThrow('needs a pattern');
    expect(() => runCommandTool({ folder, commands: {} })).toThrow('at least one command');
  });

  test('a missing folder', () => {
    for (const path of ['/there/is/no/such', '/there/is/no/{tenant}', '/etc/passwd', '/etc/passwd/{tenant}'])
      expect(() => make({}, { folder: path })).toThrow('is not a folder: create it or name another.');
    for (const path of ['x{tenant}', '{tenant}/{tenant}', '{tenant}/x{tenant}', '{tenant}-{tenant}'])
      expect(() => make({}, { folder: `${folder}/${path}` })).toThrow('only as the whole name of a folder');
    expect(() => make({}, { folder: `${folder}/{tenant}/../x` })).toThrow('must not go up again');
  });
});
