import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../../test/faults/scenario.ts';
import { isAlive } from '../../../test/gateway/process-counts.ts';
import { within } from '../../../test/within.ts';
import { startChild, type Child, type ChildPlan } from './child.ts';

function start(command: string, args: readonly string[] = [], more: Partial<ChildPlan> = {}): Child {
  const child = startChild({ command, args, env: { PATH: '/usr/bin:/bin' }, maxErrorBytes: 100, ...more });
  onTestFinished(() => child.close());
  return child;
}

const shell = (script: string, more?: Partial<ChildPlan>): Child => start('/bin/sh', ['-c', script], more);

test.each<[how: string, child: () => Child]>([
  ['ended with exit code 0', () => shell('exit 0')],
  ['ended with exit code 3', () => shell('exit 3')],
  ['was ended by SIGKILL', () => shell('kill -KILL $$')],
  ['could not be found', () => start('/there/is/no/such')],
  ['could not be found', () => start('/bin/sh', [], { folder: '/there/is/no/such' })],
  ['could not be started (EACCES)', () => start('/dev/null')],
])('of a program it is told that it %s', async (how, child) => {
  expect(await within(5_000, 'the program to end', child().ended)).toBe(how);
});

test('of error output the end is kept, and all of it is told as it comes', async () => {
  let told = '';
  const child = shell('seq 1 2000 >&2; printf "the end" >&2', {
    maxErrorBytes: 12,
    onErrorText: (text) => (told += text),
  });
  await within(5_000, 'the program to end', child.ended);
  await eventually('the rest of its output', () => told.endsWith('the end'), 5_000);
  expect(child.errorText()).toBe('2000\nthe end');
  expect(told.split('\n')).toHaveLength(2_001);
});

test('a program has the environment that it is given, and nothing of that of this process', async () => {
  const before = process.env['NODE_V8_COVERAGE'];
  process.env['NODE_V8_COVERAGE'] = '/tmp/toolcrib-coverage';
  onTestFinished(() => {
    if (before === undefined) delete process.env['NODE_V8_COVERAGE'];
    else process.env['NODE_V8_COVERAGE'] = before;
  });
  const child = start('/usr/bin/env', [], { env: { TEAM: 'north' } });
  expect(String(await within(5_000, 'its environment', child.stdout.toArray()))).toBe('TEAM=north\n');
});

test('closing ends a program by its input, and one that goes on whatever it is asked with all it started', async () => {
  const willing = shell('cat');
  await within(5_000, 'the willing one to close', willing.close());
  expect(await willing.ended).toBe('ended with exit code 0');

  const stubborn = shell('trap "" TERM; sleep 60 & echo $$ $!; while :; do sleep 1; done');
  const [line] = (await within(5_000, 'its numbers', once(stubborn.stdout, 'data'))) as [Buffer];
  const pids = line.toString().trim().split(' ').map(Number);
  const closing = stubborn.close();
  expect(stubborn.close()).toBe(closing);
  await within(10_000, 'the stubborn one to close', closing);
  expect(await stubborn.ended).toBe('was ended by SIGKILL');
  expect(pids.map(isAlive)).toEqual([false, false]);
});

test('what a program leaves behind when it ends by itself is ended, too', async () => {
  const child = shell('sleep 60 >/dev/null 2>&1 & echo $!');
  const [line] = (await within(5_000, 'its number', once(child.stdout, 'data'))) as [Buffer];
  expect(await within(5_000, 'the program to end', child.ended)).toBe('ended with exit code 0');
  await eventually('what it left to end', () => !isAlive(Number(line)), 5_000);
});
