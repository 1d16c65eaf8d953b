import { expect, test } from 'vitest';
import { findings } from './scenario.ts';
import { scenarios } from './scenarios.ts';

for (const scenario of scenarios) {
  test(
    `${scenario.id} control: the check finds a fault with the defence switched off`,
    { timeout: 240_000 },
    async (context) => {
      const outcome = await scenario.control({ seed: 1, counts: 'short', report: () => {} });
      if (outcome.notRun !== undefined) context.skip(outcome.notRun);
      expect(findings(outcome)).not.toEqual([]);
    },
  );
}
