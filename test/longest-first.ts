import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files that take long; a clean clone knows only the sizes of files, and these are short. */
const LONGEST = [
  'test/faults/faults.long.test.ts',
  'test/faults/controls.long.test.ts',
  'test/properties.long.test.ts',
  'test/security/hostile-bodies.long.test.ts',
  'test/gateway/upstream-kills.long.test.ts',
  'test/conformance/gateway.long.test.ts',
  // These are quick, but mostly wait: begun last, they would end alone.
  'test/gateway/matrix.test.ts',
  'test/gateway/upstream-kills.test.ts',
  'test/cli/stdio.test.ts',
  'test/interop/sessions.test.ts',
  'test/cli/clients.test.ts',
  'test/gateway/gateway-matrix.test.ts',
  'test/behaviour/replaced-folders.test.ts',
  'test/cli/gateway-agents.test.ts',
];

/** Begins what takes longest first, so that the other files fill the time beside it. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((file) => moduleId.endsWith(file));
      return at < 0 ? LONGEST.length : at;
    };
    const orderOf = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    // oxlint-disable-next-line unicorn/no-array-sort -- not that of an array
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => orderOf(a) - orderOf(b) || rank(a) - rank(b));
  }
}
