import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkpointKeys, openCheckpoint, signCheckpoint } from './journal/checkpoint.ts';
import { openSecrets } from './secrets-file.ts';

test('E4 secrets are created once, readable by their owner only, and then stay the same', () => {
  const file = place();
  const made = openSecrets(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(openSecrets(file)).toEqual(made);
  expect(openSecrets(file, 'existing')).toEqual(made);
  expect(readdirSync(join(file, '..'))).toEqual(['toolcrib.secrets']);
  expect(new Set(Object.values(made)).size).toBe(3);
});

test('the stored key signs checkpoints', () => {
  const { signing, checking } = checkpointKeys(openSecrets(place()).signingKey);
  const checkpoint = { n: 1, at: '', upTo: 1, heads: {}, before: '' };
  const line = signCheckpoint(checkpoint, signing);
  expect(openCheckpoint(line, checking)).toEqual(checkpoint);
  expect(openCheckpoint(line, checkpointKeys(openSecrets(place()).signingKey).checking)).toBeUndefined();
  // The same signature in another spelling is another line.
  expect(openCheckpoint(line.replace(' ', '= '), checking)).toBeUndefined();
  expect(openCheckpoint('', checking)).toBeUndefined();
});

test('E4 a file that others can read is refused, with the command that fixes it', () => {
  const file = place();
  openSecrets(file);
  chmodSync(file, 0o640);
  expect(() => openSecrets(file)).toThrow(`${file} can be read by others; run: chmod 600 ${file}`);
});

test.each(['', '{', '[]', 'null', '{}', '{"pepper":"short","digestKey":"short","signingKey":"short"}'])(
  'a file with the content %j is refused and not changed',
  (text) => {
    const file = place();
    writeFileSync(file, text, { mode: 0o600 });
    expect(() => openSecrets(file)).toThrow(expect.objectContaining({ code: 'invalid_setup' }) as Error);
    expect(readFileSync(file, 'utf8')).toBe(text);
  },
);

test.each([0o700, 0o755])('a folder of mode %o in place of the file is reported', (mode) => {
  const file = place();
  mkdirSync(file, { mode });
  expect(() => openSecrets(file)).toThrow(`${file} is a folder, not a file of secrets.`);
});

test('when secrets cannot be created, the reason is reported', () => {
  const file = join(place(), 'toolcrib.secrets');
  expect(() => openSecrets(file)).toThrow(`${file} cannot be made (ENOENT): its folder must exist`);
});

test('secrets are not created where they must exist', () => {
  const file = place();
  expect(() => openSecrets(file, 'existing')).toThrow('restore the secrets from a backup');
  expect(readdirSync(join(file, '..'))).toEqual([]);
});

function place(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-secrets-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'toolcrib.secrets');
}
