import { expect, test } from 'vitest';
import type { RunOptions } from './scenario.ts';
import { scenarios } from './scenarios.ts';

const seed = Number(process.env['TOOLCRIB_FAULT_SEED'] ?? Date.now() % 1_000_000_000);
// First of all: what hangs or crashes can be repeated too.
console.log(`seed ${seed}; TOOLCRIB_FAULT_SEED=${seed} repeats it`);

for (const scenario of scenarios) {
  test(`${scenario.id} ${scenario.title}`, { timeout: 600_000 }, async (context) => {
    const timeline: string[] = [];
    const report: RunOptions['report'] = (line) => void timeline.push(line);
    const replay = `npm run faults -- --only ${scenario.id} --seed ${seed}`;
    // However it fails, what is thrown and what takes too long included.
    context.onTestFailed(() => console.log([replay, ...timeline].join('\n')));
    const { failures, notRun } = await scenario.run({ seed, counts: 'short', report });
    if (notRun !== undefined) context.skip(notRun);
    expect(failures).toEqual([]);
  });
}
