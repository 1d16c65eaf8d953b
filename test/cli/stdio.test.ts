import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cli, startNode, type Child } from '../behaviour/child.ts';
import { talkInLines } from '../behaviour/lines.ts';
import { openPeer, type Peer } from '../behaviour/peer.ts';
import { runProcess } from '../behaviour/run-command-line.ts';
import { admitAll } from '../gateway.ts';
import { prepare, type ServedSetup } from '../served.ts';

const files = {
  'tools/talkative.ts': `import { defineTool } from 'toolcrib';
console.log('loaded');
export const talk = defineTool({ name: 'get_talk', description: 'Talks.' }, (_, { caller, tenant }) => {
  console.log('called');
  process.stdout.write('written\\n');
  return [caller.id, tenant.id, tenant.name, caller.roles.join(), String(process.env.TOOLCRIB_KEY)].join(' ');
});`,
};
const open = { auth: undefined as never, access: undefined as never };

async function talkTo(setup: ServedSetup): Promise<{ child: Child; peer: Peer; folder: string }> {
  const folder = prepare({ files, ...setup });
  await admitAll(folder);
  const file = join(folder, 'toolcrib.yaml');
  const child = startNode([cli, 'serve', '--stdio', '--config', file], setup.env);
  const talk = talkInLines(child.process.stdin, child.process.stdout);
  const legacy = { version: '2025-11-25', era: 'legacy' } as const;
  return { child, folder, peer: await openPeer({ ...talk, close: () => child.kill() }, legacy) };
}

test('serve --stdio sends output that tools print to standard error, and only messages to the client', async () => {
  const { child, peer } = await talkTo({ config: open });
  expect((await peer.call('get_talk')).content[0]!.text).toMatch(/^local local/);
  await expect.poll(() => child.complaints()).toMatch(/loaded[^]*called[^]*written/);
  child.process.stdin.end();
  expect(await child.exit).toEqual({ code: 0, signal: null });
});

test.each([
  ['lint', ['--json']],
  ['check', ['--json']],
  ['codegen', []],
])(
  '%s prints only its own output, and sends output that tools print to standard error',
  async (command, flags) => {
    const folder = prepare({ files, config: open });
    const { output, complaints } = await runProcess([
      command,
      ...flags,
      '--config',
      join(folder, 'toolcrib.yaml'),
    ]);
    expect(complaints).toContain('loaded\n');
    if (command === 'codegen') expect(output).toMatch(/^\/[^]+get_talk/);
    else expect(JSON.parse(output)).toMatchObject({ ok: expect.any(Boolean) });
  },
);

describe('over standard input and output, with sign-in,', () => {
  test('the configuration can name the caller', async () => {
    const stdio = { tenant: 'north', caller: 'eve', roles: ['staff'] };
    const { child, peer } = await talkTo({ config: { auth: { stdio } } });
    expect((await peer.call('get_talk')).content[0]!.text).toBe('eve north North staff undefined');
    expect(child.complaints()).not.toContain('empty');
  });

  test('a key names the caller, and tools cannot read the key', async () => {
    const folder = prepare({});
    const { ada } = await admitAll(folder);
    const { peer } = await talkTo({ env: { TOOLCRIB_KEY: ada } });
    expect((await peer.call('get_talk')).content[0]!.text).toMatch(/^ada north North \S* ?undefined$/);
  });

  test('a caller without any permission gets an empty list, and the log says what to change', async () => {
    const { child, peer } = await talkTo({});
    expect((await peer.list()).tools).toEqual([]);
    const words = /may use none of the 1 tools.*auth\.stdio.*--key or TOOLCRIB_KEY/;
    await expect.poll(() => child.complaints(), { timeout: 10_000 }).toMatch(words);
  });

  test('an invalid key ends the server with a reason that does not contain the key', async () => {
    const folder = prepare({ files });
    const key = `tck_${'a'.repeat(36)}`;
    const run = ['serve', '--stdio', '--config', join(folder, 'toolcrib.yaml'), '--key', key];
    const { code, complaints, output } = await runProcess(run);
    expect({ code, output }).toEqual({ code: 1, output: '' });
    expect(complaints).toContain('names nobody: it is unknown, revoked or expired');
    expect(complaints).not.toContain(key);
  });

  test('a key without --stdio, and a file that only names the caller of --stdio, are refused with what to do', async () => {
    const file = join(prepare({ files, config: { auth: { stdio: { roles: ['staff'] } } } }), 'toolcrib.yaml');
    expect(await runProcess(['serve', '--config', file])).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('serve with --stdio, or add "keys: {}" to auth.'),
    });
    expect(await runProcess(['serve', '--config', file, '--key', 'x'])).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('--key names the caller of --stdio'),
    });
  });
});
