import { expect, test } from 'vitest';
import { startBehindGateway } from './gateway.ts';
import { kinds, startFixture, type Kind, type Served } from './programs.ts';
import { frozen, inPairs, problemsOf, runLeg, type Leg, type Scenario } from './suite.ts';

/** Runs the sets of both wires against one server; the newer one has the scenarios of extensions too. */
async function legsOf(start: Promise<Served>): Promise<readonly Leg[]> {
  const served = await start;
  try {
    const legs: Leg[] = [];
    for (const selection of frozen) legs.push(await runLeg(served, selection));
    return legs;
  } finally {
    await served.stop();
  }
}

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

function marks(legs: readonly Leg[]): readonly number[] {
  return legs.map(({ scenarios }) => scenarios.filter((each) => problemsOf(each).length === 0).length);
}

// Only an older server over HTTP has a stream that it can close for its client to come back; with others the answer
// comes in one piece, and there is nothing to look at.
const STREAMS: ReadonlySet<string> = new Set(['server-sse-polling']);
const mayMiss = (kind: Kind, way: string): ReadonlySet<string> =>
  kind === 'sdk v1' && way === 'http' ? new Set() : STREAMS;

test.each(kinds)(
  'the official suite finds behind a gateway whatever it finds at a server of %s itself',
  { timeout: 480_000 },
  async (kind) => {
    const starts = [
      () => startFixture(kind),
      () => startBehindGateway(kind, 'http'),
      () => startBehindGateway(kind, 'stdio'),
    ];
    const [alone, http, stdio] = (await inPairs(starts, (start) => legsOf(start()))) as [
      readonly Leg[],
      readonly Leg[],
      readonly Leg[],
    ];
    console.log(kind, JSON.stringify({ alone: marks(alone), http: marks(http), stdio: marks(stdio) }));
    expect(lost(alone, http, mayMiss(kind, 'http'))).toEqual([]);
    expect(lost(alone, stdio, mayMiss(kind, 'stdio'))).toEqual([]);
  },
);
