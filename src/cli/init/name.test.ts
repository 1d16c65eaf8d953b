import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { complaintAboutName, nameAfter } from './name.ts';

test.each([
  ['/home/ada/My Tools', 'my-tools'],
  ['/home/ada/Ünser Kram!', 'nser-kram-'],
  ['/home/ada/.hidden', 'hidden'],
  ['/home/ada/2024', '2024'],
  ['/home/ada/toolcrib', 'my-tools'],
  ['/home/ada/日本', 'my-tools'],
  ['/', 'my-tools'],
])('the project in the folder %j is named %j unless it is told otherwise', (folder, name) => {
  expect(nameAfter(folder)).toBe(name);
});

test('whatever a folder is called, its project gets a name that is accepted', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (folder) => {
      expect(complaintAboutName(nameAfter(folder))).toBeUndefined();
    }),
    { numRuns: propertyRuns(2_000) },
  );
});
