import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { defineTool } from '../../index.ts';
import { cli, startNode } from '../../../test/behaviour/child.ts';
import { runCommandLine } from '../../../test/behaviour/run-command-line.ts';
import { makeUp, serve } from '../../../test/client/peers.ts';
import { startServedSite, startSite, visit } from '../../../test/sign-in-site.ts';
import { within } from '../../../test/within.ts';

const sdkServer = [
  '--',
  process.execPath,
  join(import.meta.dirname, '../../../test/cli/fixtures/sdk-server.mjs'),
];

async function examined(args: readonly string[], env: Record<string, string> = {}): Promise<unknown> {
  const { code, output } = await runCommandLine(['doctor', '--json', ...args], env);
  const { ok, steps } = JSON.parse(output) as { ok: boolean; steps: { step: string; state: string }[] };
  return { code, ok, steps: steps.map(({ step, state }) => `${step} ${state}`) };
}

test('toolcrib doctor checks a healthy server step by step, with one harmless call', async () => {
  let calls = 0;
  const [look, change] = [{ readOnlyHint: true }, {}].map((annotations, at) =>
    defineTool({ name: `tool_${at}`, description: 'Counts.', annotations }, () => `${at} ${++calls}`),
  );
  const url = await serve([change!, look!]);
  const { code, output } = await runCommandLine(['doctor', url]);
  expect([code, calls]).toEqual([0, 1]);
  expect(output.replaceAll(/ {2,}/g, ' ')).toMatch(/^skipped name 127\.0\.0\.1 is an address already\.\n/);
  expect(output).toContain('tool_0 was called and answered.\n');
  expect(output).toMatch(/bench .*speaks 2026-07-28 \(without a handshake\)/);
  expect(output).toMatch(/All is well\.\n$/);
});

test('toolcrib doctor starts a program, and calls no tool that may change something', async () => {
  expect(await examined(sdkServer)).toEqual({
    code: 0,
    ok: true,
    steps: ['program ok', 'protocol ok', 'tools ok', 'call skipped'],
  });
});

test('toolcrib doctor shows what a program wrote before it ended', async () => {
  const program = 'console.error("No such option: --x"); process.exit(3)';
  const { code, output } = await runCommandLine(['doctor', '--', process.execPath, '-e', program]);
  expect(code).toBe(6);
  expect(output).toMatch(/^failed +program .* ended with exit code 3\. It wrote: No such option: --x\n/);
});

test.each([
  ['http://127.0.0.1:1/mcp', ['name skipped', 'TLS skipped', 'transport failed']],
  ['https://127.0.0.1:1/mcp', ['name skipped', 'TLS failed']],
  ['https://no-such-host.invalid/mcp', ['name failed']],
])('toolcrib doctor stops at the first step that fails, at %s', async (url, steps) => {
  expect(await examined([url])).toEqual({ code: 6, ok: false, steps });
});

test('toolcrib doctor, and any other command, says that a server does not speak TLS', async () => {
  const made = await makeUp(() => false);
  const url = made.url.replace('http:', 'https:');
  const said = 'it does not speak TLS there; its address may have to begin with http://.';
  expect((await runCommandLine(['doctor', url])).output).toContain(`127.0.0.1: ${said}\n`);
  const listed = await runCommandLine(['list', url]);
  expect(listed).toMatchObject({ code: 6, complaints: `toolcrib: ${url} cannot be reached: ${said}\n` });
});

test('toolcrib doctor suggests a remedy, and escapes text of the server', async () => {
  const made = await makeUp(({ body, refuse }) =>
    body['method'] === 'tools/list' ? refuse(-32603, 'broken\u001B[2J') : false,
  );
  const { code, output } = await runCommandLine(['doctor', made.url]);
  expect(code).toBe(2);
  expect(output).toMatch(/failed +tools +broken\\u001b\[2J\n +See the log of the server/);
});

test('toolcrib doctor checks the sign-in, and says how to sign in if nobody has', async () => {
  const site = await startSite();
  const home = mkdtempSync(join(tmpdir(), 'toolcrib-doctor-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config') };
  expect(await examined([site.url], env)).toEqual({
    code: 5,
    ok: false,
    steps: [
      'name skipped',
      'TLS skipped',
      'transport ok',
      'metadata ok',
      'registration ok',
      'audience ok',
      'scopes ok',
      'signed in failed',
    ],
  });
  const { output } = await runCommandLine(['doctor', site.url], env);
  expect(output).toContain(`Tokens come from ${site.authority.url}.`);
  expect(output).toContain(`Run toolcrib login ${site.url}\n`);
  site.authority.metadata = { registration_endpoint: undefined };
  expect(await examined([site.url], env)).toMatchObject({ code: 5, steps: { length: 5 } });
});

test('toolcrib doctor, and any other command, says that a credential is not accepted', async () => {
  const made = await makeUp(({ response }) => void response.writeHead(401).end());
  const given = [
    ['--key', 'wrong-key'],
    ['--header', 'X-API-Key: wrong-key'],
  ];
  for (const more of given) {
    const { code, output } = await runCommandLine(['doctor', made.url, ...more]);
    expect(code).toBe(5);
    expect(output).toContain(`failed   transport     ${made.url} does not accept this credential.\n`);
    expect(output).toContain('whether a credential is the right one.\n');
    const listed = await runCommandLine(['list', made.url, ...more]);
    expect(listed).toMatchObject({
      code: 5,
      complaints: expect.stringContaining('does not accept this credential.'),
    });
  }
  const { complaints } = await runCommandLine(['list', made.url, '--header', 'X-Team: north']);
  expect(complaints).toBe(
    `toolcrib: ${made.url} wants to know who is calling.\n` +
      `Run toolcrib login ${made.url}, or give a credential with --key or --header.\n`,
  );
});

test('toolcrib doctor accepts the tokens of a client that was registered by hand', async () => {
  const site = await startServedSite();
  site.authority.metadata = { registration_endpoint: undefined };
  const home = mkdtempSync(join(tmpdir(), 'toolcrib-doctor-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const env = { HOME: home, XDG_CONFIG_HOME: join(home, '.config'), CI: '1' };
  const login = startNode([cli, 'login', site.url, '--no-browser', '--client-id', 'by-hand'], env);
  await expect.poll(() => login.complaints(), { timeout: 20_000 }).toContain('Paste');
  login.process.stdin.write(`${await visit(/^ {2}(http\S+)$/m.exec(login.complaints())![1]!)}\n`);
  expect(await within(20_000, 'the sign-in', login.exit)).toMatchObject({ code: 0 });
  expect(await examined([site.url], env)).toMatchObject({ code: 0, ok: true });
});
