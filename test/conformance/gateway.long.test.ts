import { expect, test } from 'vitest';
import { POLLING, startBehindGateway } from './gateway.ts';
import { kinds, startFixture, type Kind } from './programs.ts';
import { inPairs, problemsOf, runScenario, runWires, type Leg, type Scenario } from './suite.ts';

/** How many scenarios each kind of server passes by itself; without them nothing could be lost. */
const PASSED_ALONE: Readonly<Record<Kind, Readonly<Record<string, number>>>> = {
  toolcrib: { 'required by 2025-11-25': 33, 'required by 2026-07-28': 50 },
  'sdk v2': { 'required by 2025-11-25': 33, 'required by 2026-07-28': 40 },
  // It does not speak the newest revision.
  'sdk v1': { 'required by 2025-11-25': 33, 'required by 2026-07-28': 2 },
};

function passedWhole(legs: readonly Leg[]): object {
  const counts = legs.map(({ title, scenarios }) => {
    const passed = scenarios.filter((scenario) => problemsOf(scenario).length === 0);
    return [title, passed.length] as const;
  });
  return Object.fromEntries(counts);
}

/** What a server alone has and the same server behind a gateway has not. */
function lost(alone: readonly Leg[], behind: readonly Leg[]): string[] {
  return behind.flatMap(({ title, scenarios }, index) =>
    scenarios
      .filter(({ name }) => name !== POLLING)
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
  'the official suite has the same results behind a gateway as at a server of %s itself',
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
    expect(passedWhole(alone)).toEqual(PASSED_ALONE[kind]);
    expect(lost(alone, http)).toEqual([]);
    expect(lost(alone, stdio)).toEqual([]);
  },
);

test.each(kinds)(
  'behind a gateway a client can come back to a stream that an older server of %s has closed',
  { timeout: 120_000 },
  async (kind) => {
    const starts = [() => startFixture(kind), () => startBehindGateway(kind, 'http', '2025-11-25')];
    for (const start of starts)
      expect(problemsOf(await runScenario(start(), POLLING, '2025-11-25'))).toEqual([]);
  },
);
