import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { AuthorizationPeer } from '../../../test/authorization-server.ts';
import { runTypeScript, startNode, type Child } from '../../../test/behaviour/child.ts';
import { protectedCall, startSite, type Site } from '../../../test/sign-in-site.ts';
import { createFakeClock } from '../../testing.ts';
import { memoryCredentials, type CredentialStore } from './credential-store.ts';
import { fileCredentials } from './file-credentials.ts';

const child = join(import.meta.dirname, '../../../test/sign-in-child.ts');

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-credentials-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

// As strict as such servers are: a refresh token is good once. Answers wait for what a test needs to happen before.
function rotate(
  authority: AuthorizationPeer,
  { beforeGrant = nothing, beforeRefusal = nothing }: Readonly<Record<string, () => Promise<void>>> = {},
): void {
  const spent = new Set<string>();
  authority.answers.set('/token', async ({ form }) => {
    const token = form.get('refresh_token');
    if (token === null) return undefined;
    if (!spent.has(token)) {
      spent.add(token);
      await beforeGrant();
      return undefined;
    }
    await beforeRefusal();
    return { status: 400, body: { error: 'invalid_grant' } };
  });
}

function nothing(): Promise<void> {
  return Promise.resolve();
}

function renewals({ authority }: Site): number {
  return authority.at('/token').filter(({ form }) => form.get('grant_type') === 'refresh_token').length;
}

/** A store without a lock, as one object of a process of its own would have it. */
function viewOf({ get, set, delete: remove }: CredentialStore): CredentialStore {
  return { get, set, delete: remove };
}

test('two programs that share a folder renew a token that is good once without losing it', async () => {
  const site = await startSite();
  rotate(site.authority);
  const folder = await makeFolder();
  const first = site.signIn({ store: await fileCredentials(folder) });
  const second = site.signIn({ store: await fileCredentials(folder) });
  for (const each of [first, second]) expect(await protectedCall(each, site.url)).toBe(200);
  for (let round = 1; round <= 3; round++) {
    site.authority.tokens.length = 0;
    expect(await Promise.all([first, second].map((each) => protectedCall(each, site.url)))).toEqual([
      200, 200,
    ]);
    expect(renewals(site)).toBe(round);
  }
  expect(site.authority.at('/authorize')).toHaveLength(1);
  expect((await readdir(folder)).filter((name) => name.endsWith('.lock'))).toEqual([]);
});

test('processes that share a folder renew a token that is good once without losing it', async () => {
  const site = await startSite();
  const { authority, server } = site;
  const beforeGrant = (): Promise<void> => expect.poll(() => server.at('/mcp').length).toBe(5);
  rotate(authority, { beforeGrant });
  const folder = await makeFolder();
  const mine = site.signIn({ store: await fileCredentials(folder) });
  expect(await protectedCall(mine, site.url)).toBe(200);
  const others: Child[] = [];
  for (let count = 0; count < 2; count++) others.push(startNode([runTypeScript, child, site.url, folder]));
  await Promise.all(others.map((each) => each.outputUntil('ready')));
  site.authority.tokens.length = 0;
  for (const each of others) each.process.stdin.write('call\n');
  expect(await protectedCall(mine, site.url)).toBe(200);
  await Promise.all(others.map((each) => each.outputUntil('answered 200')));
  expect(renewals(site)).toBe(1);
  expect(site.authority.at('/authorize')).toHaveLength(1);
}, 60_000);

test('a refused renewal leaves the tokens alone that another process has kept meanwhile', async () => {
  const site = await startSite();
  const store = memoryCredentials();
  const kept: string[] = [];
  const set = (name: string, value: string): void => {
    if (value.includes('accessToken')) kept.push(value);
    void store.set(name, value);
  };
  const [first, second] = [1, 2].map(() => site.signIn({ store: { ...viewOf(store), set } }));
  expect(await protectedCall(first!, site.url)).toBe(200);
  await second!.headers({ url: site.url, method: 'POST' });
  site.authority.tokens.length = 0;
  rotate(site.authority, {
    beforeGrant: () => expect.poll(() => renewals(site)).toBe(2),
    beforeRefusal: () => expect.poll(() => kept.length).toBe(2),
  });
  expect(await Promise.all([first!, second!].map((each) => protectedCall(each, site.url)))).toEqual([
    200, 200,
  ]);
  expect([renewals(site), kept.length]).toEqual([2, 2]);
  expect(site.authority.at('/authorize')).toHaveLength(1);
});

test('tokens that another process has renewed are used without being written again', async () => {
  const site = await startSite();
  const store = memoryCredentials();
  const first = site.signIn({ store: viewOf(store) });
  expect(await protectedCall(first, site.url)).toBe(200);
  const written: string[] = [];
  const set = (name: string, value: string): void => {
    written.push(value);
    void store.set(name, value);
  };
  const second = site.signIn({ store: { ...viewOf(store), set } });
  await second.headers({ url: site.url, method: 'POST' });
  site.authority.tokens.length = 0;
  for (const each of [first, second]) expect(await protectedCall(each, site.url)).toBe(200);
  expect(renewals(site)).toBe(1);
  expect(written.filter((value) => value.includes('accessToken'))).toEqual([]);
});

test('a process that slept through two renewals of another uses the newest refresh token', async () => {
  const site = await startSite();
  rotate(site.authority);
  const clock = createFakeClock();
  const store = memoryCredentials();
  const awake = site.signIn({ store: viewOf(store), clock });
  expect(await protectedCall(awake, site.url)).toBe(200);
  const asleep = site.signIn({ store: viewOf(store), clock });
  await asleep.headers({ url: site.url, method: 'POST' });
  clock.advance(3_545_000);
  await awake.headers({ url: site.url, method: 'POST' });
  clock.advance(3_600_000);
  expect(await protectedCall(asleep, site.url)).toBe(200);
  expect(renewals(site)).toBe(2);
  expect(site.authority.at('/authorize')).toHaveLength(1);
});

test('a lock that a killed process left behind holds nobody up', async () => {
  const site = await startSite();
  const folder = await makeFolder();
  const one = site.signIn({ store: await fileCredentials(folder) });
  expect(await protectedCall(one, site.url)).toBe(200);
  const longAgo = new Date(Date.now() - 60_000);
  const names = (await readdir(folder)).filter((each) => each.endsWith('.sealed'));
  for (const name of names) {
    const lock = join(folder, name.replace('.sealed', '.lock'));
    await writeFile(lock, 'somebody');
    await utimes(lock, longAgo, longAgo);
  }
  site.authority.tokens.length = 0;
  expect(await protectedCall(one, site.url)).toBe(200);
  expect(renewals(site)).toBe(1);
  // That of the tokens was taken over: whoever waits in vain leaves a lock to its holder.
  const left = (await readdir(folder)).filter((name) => name.endsWith('.lock'));
  expect(left).toHaveLength(names.length - 1);
});
