import { expect, test } from 'vitest';
import { scenarios } from './scenarios.ts';

for (const scenario of scenarios) {
  test(
    `${scenario.id} the check finds something with the defence off`,
    { timeout: 120_000 },
    async (context) => {
      const { failures, notRun } = await scenario.control({ seed: 1, counts: 'short', report: () => {} });
      if (notRun !== undefined) context.skip(notRun);
      expect(failures).not.toEqual([]);
    },
  );
}
