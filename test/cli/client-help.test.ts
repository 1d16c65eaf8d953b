import { expect, test } from 'vitest';
import { runCommandLine } from '../behaviour/run-command-line.ts';

test('the help of toolcrib lists its commands in groups', async () => {
  const { code, output } = await runCommandLine(['--help']);
  const [, ...groups] = output.split(/^(?=[A-Z].*:$)/m);
  const commands = groups.map((group) => [
    group.split(':')[0],
    [...group.matchAll(/^ {2}([a-z]+)/gm)].map(([, name]) => name).join(' '),
  ]);
  expect(code).toBe(0);
  expect(commands.slice(1)).toEqual([
    ['Serve and configure', 'serve init check lint codegen link unlink add import'],
    ['Govern', 'keys whoami upstreams tenants approvals audit pins'],
    ['Use servers', 'list call read prompt complete watch doctor login logout replay servers'],
    ['Agents', 'agents run'],
    ['Help', 'help'],
  ]);
});
