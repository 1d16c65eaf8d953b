import { hoardedSessions } from './scenarios/a08-hoarded-sessions.ts';
import { rightClient } from './scenarios/a10-right-client.ts';
import { runaway } from './scenarios/d05-runaway.ts';
import { killed } from './scenarios/r01-killed.ts';
import { synced } from './scenarios/r02-synced.ts';
import { failingDisk } from './scenarios/r03-failing-disk.ts';
import { noUnrecordedEffect } from './scenarios/r05-no-unrecorded-effect.ts';
import { once } from './scenarios/r06-once.ts';
import { fuzz } from './scenarios/r13-fuzz.ts';
import { memory } from './scenarios/r14-memory.ts';
import { worstInput } from './scenarios/r15-worst-input.ts';
import { gracefulStop } from './scenarios/r16-graceful-stop.ts';
import { reload } from './scenarios/r17-reload.ts';
import { revocation } from './scenarios/r18-revocation.ts';
import { limiter } from './scenarios/r19-limiter.ts';
import { isolation } from './scenarios/r21-isolation.ts';
import { properties } from './scenarios/r22-properties.ts';
import { soak } from './scenarios/soak-hostile.ts';
import type { Scenario } from './scenario.ts';

/** Every scenario, in the order they are run. */
export const scenarios: readonly Scenario[] = [
  killed,
  synced,
  failingDisk,
  noUnrecordedEffect,
  once,
  fuzz,
  memory,
  worstInput,
  gracefulStop,
  reload,
  revocation,
  limiter,
  isolation,
  properties,
  rightClient,
  hoardedSessions,
  runaway,
  soak,
];
