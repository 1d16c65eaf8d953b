import { expect, test } from 'vitest';
import { killServers } from './kills.ts';

test('R7 servers that are killed during calls fail only these calls, restart, and leave nothing behind', async () => {
  const { kills, failed, callsOfOthers } = await killServers({ kills: 1, calls: 30 });
  expect({ kills, failed }).toEqual({ kills: 3, failed: 15 });
  expect(callsOfOthers).toBeGreaterThanOrEqual(30);
}, 60_000);
