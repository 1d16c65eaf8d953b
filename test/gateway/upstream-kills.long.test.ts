import { expect, test } from 'vitest';
import { killServers } from './kills.ts';

test(
  'R7 a hundred kills of each kind of server during ten thousand calls',
  { timeout: 900_000 },
  async () => {
    const report = await killServers({ kills: 100, calls: 10_000 });
    console.log(JSON.stringify(report));
    expect(report).toMatchObject({ kills: 300, failed: 1_500 });
  },
);
