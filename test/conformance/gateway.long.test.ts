import { expect, test } from 'vitest';
import { startBehindGateway, unseen } from './gateway.ts';
import { kinds, startFixture } from './programs.ts';
import { inPairs, problemsOf, runWires, type Leg, type Scenario } from './suite.ts';

/** What a server alone has and the same server behind a gateway has not. */
function lost(alone: readonly Leg[], behind: readonly Leg[], mayMiss: ReadonlySet<string>): string[] {
  return behind.flatMap(({ title, scenarios }, index) =>
    scenarios
      .filter(({ name }) => !mayMiss.has(name))
      .flatMap((scenario) => {
        const before = alone[index]!.scenarios.find(({ name }) => name === scenario.name)!;
        // A scenario that the server passes is passed whole; of others, every check that it passes.
        if (problemsOf(before).length === 0) return problemsOf(scenario);
        const passed = passedOf(scenario);
        const missing = [...passedOf(before)].filter((id) => !passed.has(id));
        return missing.map((id) => `${scenario.name}: ${id} is lost`);
      })
      .map((problem) => `${title}: ${problem}`),
  );
}

function passedOf({ checks }: Scenario): ReadonlySet<string> {
  return new Set(checks.filter(({ status }) => status === 'SUCCESS').map(({ id }) => id));
}

test.each(kinds)(
  'the official suite finds behind a gateway whatever it finds at a server of %s itself',
  { timeout: 480_000 },
  async (kind) => {
    const starts = [
      () => startFixture(kind),
      () => startBehindGateway(kind, 'http'),
      () => startBehindGateway(kind, 'stdio'),
    ];
    const [alone, http, stdio] = (await inPairs(starts, (start) => runWires(start()))) as [
      readonly Leg[],
      readonly Leg[],
      readonly Leg[],
    ];
    expect(lost(alone, http, unseen(kind, 'http'))).toEqual([]);
    expect(lost(alone, stdio, unseen(kind, 'stdio'))).toEqual([]);
  },
);
