import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const threats =
  'A6 A8 A9 A10 A11 A15 A16 B1 B2 B3 B4 B5 B6 B8 B9 B10 B11 B12 B13 C1 C2 C3 C4 C5 C6 C7 C8 C9 D1 D2 D3 D4 D5 E1 E2 E3 E4 E5'.split(
    ' ',
  );
const rows = new Map(
  Array.from(
    readFileSync(join(root, 'SECURITY.md'), 'utf8').matchAll(/^\| ([A-E]\d{1,2}) [^|]+ \| (.+) \|$/gm),
    ([, threat, files]) => [threat!, Array.from(files!.matchAll(/`([^`]+)`/g), ([, file]) => file!)],
  ),
);

test('SECURITY.md has a row for each threat, and no other (003-12)', () => {
  expect([...rows.keys()]).toEqual(threats);
});

test.each([...rows])('%s is tested where SECURITY.md says, under its name', (threat, files) => {
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) {
    expect([file, existsSync(join(root, file))]).toEqual([file, true]);
    // A title begins with the names of all the threats it is about.
    const title = new RegExp(String.raw`['"\x60](?:[A-E]\d{1,2} )*${threat}(?: [A-E]\d{1,2})*(?: |['"\x60])`);
    expect([file, title.test(readFileSync(join(root, file), 'utf8'))]).toEqual([file, true]);
  }
});
