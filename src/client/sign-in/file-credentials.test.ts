import { randomBytes } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { protectedCall, startSite } from '../../../test/sign-in-site.ts';
import { memoryCredentials } from './credential-store.ts';
import { fileCredentials } from './file-credentials.ts';
import { sealedStore } from './sealed-store.ts';

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'toolcrib-credentials-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test('tokens survive the process, in encrypted files that only their owner can read', async () => {
  const folder = join(await makeFolder(), 'deep', 'credentials');
  const { authority, url, signIn } = await startSite();
  expect(await protectedCall(signIn({ store: await fileCredentials(folder) }), url)).toBe(200);

  const later = signIn({ store: await fileCredentials(folder) });
  expect(await protectedCall(later, url)).toBe(200);
  expect(authority.at('/authorize')).toHaveLength(1);

  const names = await readdir(folder);
  expect(names.length).toBeGreaterThan(3);
  expect(((await stat(folder)).mode & 0o777).toString(8)).toBe('700');
  for (const name of names) {
    expect(((await stat(join(folder, name))).mode & 0o777).toString(8)).toBe('600');
    const bytes = await readFile(join(folder, name), 'latin1');
    for (const secret of [authority.tokens[0]!, url, authority.url, 'refresh']) {
      expect(name + bytes).not.toContain(secret);
    }
  }
});

test('a file or folder that others can use is refused', async () => {
  const folder = await makeFolder();
  await fileCredentials(folder);
  await chmod(join(folder, 'key'), 0o644);
  await expect(fileCredentials(folder)).rejects.toThrow('chmod 600');
  await chmod(join(folder, 'key'), 0o600);
  await chmod(folder, 0o755);
  await expect(fileCredentials(folder)).rejects.toThrow('chmod 700');
});

test('a folder that cannot be made, or written to, is named', async () => {
  const folder = await makeFolder();
  const store = await fileCredentials(folder);
  const usable = 'credentials need a folder that you can read and write.';
  await expect(fileCredentials(join(folder, 'key', 'deeper'))).rejects.toMatchObject({
    code: 'invalid_setup',
    message: `${join(folder, 'key', 'deeper')} cannot be used (ENOTDIR); ${usable}`,
  });
  await mkdir(join(folder, 'ada.sealed'));
  for (const use of [async () => store.get('ada'), async () => store.set('ada', 'token')])
    await expect(use()).rejects.toMatchObject({
      code: 'invalid_setup',
      message: expect.stringContaining(usable),
    });
  await expect(store.exclusively!('no-such', () => rm(folder, { recursive: true }))).resolves.toBeUndefined();
  await expect(store.exclusively!('no-such', () => Promise.resolve())).rejects.toMatchObject({
    code: 'sign_in_failed',
    message: expect.stringMatching(/cannot be renewed, because .*no-such\.lock cannot be written \(ENOENT\)/),
  });
});

test('a token that was encrypted with another key, changed, or moved to another name is ignored', async () => {
  const store = memoryCredentials();
  const key = randomBytes(32);
  const sealed = sealedStore(store, key);
  await sealed.set('ada', 'token of ada');
  expect(await sealed.get('ada')).toBe('token of ada');

  expect(await sealedStore(store, randomBytes(32)).get('ada')).toBeUndefined();
  const text = (await store.get('ada'))!;
  await store.set('bob', text);
  expect(await sealed.get('bob')).toBeUndefined();
  for (const broken of [
    '',
    'v1.',
    'v1.AAAA',
    `${text.slice(0, -3)}AAA`,
    text.slice(3),
    `v2.${text.slice(3)}`,
  ]) {
    await store.set('ada', broken);
    expect(await sealed.get('ada')).toBeUndefined();
  }
  expect(() => sealedStore(store, randomBytes(16))).toThrow('32 bytes');
});

test('a token file of one account that is moved to the place of another is ignored', async () => {
  const folder = await makeFolder();
  const { url, signIn } = await startSite();
  const store = await fileCredentials(folder);
  expect(await protectedCall(signIn({ store, account: 'ada' }), url)).toBe(200);
  const before = await readdir(folder);
  expect(await protectedCall(signIn({ store, account: 'bob' }), url)).toBe(200);
  const ofBob = (await readdir(folder)).filter((name) => !before.includes(name));
  for (const place of ofBob) {
    for (const name of before.filter((each) => each !== 'key')) {
      const bytes = await readFile(join(folder, name));
      const kept = await readFile(join(folder, place));
      await writeFile(join(folder, place), bytes);
      expect(await signIn({ store, account: 'bob' }).headers({ url, method: 'POST' })).toEqual({});
      await writeFile(join(folder, place), kept);
    }
  }
});
