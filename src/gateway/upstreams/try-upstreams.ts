import { systemClock } from '../../base/clock.ts';
import { ToolRegistry } from '../../core/registry.ts';
import { Metrics } from '../../observe/metrics.ts';
import { Secrets } from '../../observe/secrets.ts';
import type { LoadedConfig } from '../settings/load-config.ts';
import type { UpstreamState } from './upstream-state.ts';
import { Upstreams } from './upstreams.ts';

/** How long each upstream may take to be connected and listed, and the version that is told to it. */
export interface TryOptions {
  readonly withinMs: number;
  readonly version: string;
}

/** Connects to every upstream of a configuration, has it listed with each account, and tells how that went. */
export async function tryUpstreams(
  { config, secrets }: LoadedConfig,
  { withinMs, version }: TryOptions,
): Promise<readonly UpstreamState[]> {
  const live = new Secrets();
  for (const secret of secrets) live.add(secret);
  const upstreams = new Upstreams({ clock: systemClock, log: () => {}, live, metrics: new Metrics() });
  const settings = { ...config.upstreams, firstListSeconds: withinMs / 1000 };
  upstreams.serve({ ...config, upstreams: settings }, new ToolRegistry(), version);
  try {
    await upstreams.tryAll();
    return upstreams.states.map((state) => (isUndecided(state) ? inTime(state, withinMs) : state));
  } finally {
    await upstreams.close();
  }
}

function isUndecided({ state, degraded, listedAt }: UpstreamState): boolean {
  return state !== 'disabled' && state !== 'needs_sign_in' && state !== 'failed' && !degraded && !listedAt;
}

function inTime(state: UpstreamState, withinMs: number): UpstreamState {
  return {
    ...state,
    state: 'failed',
    reason: `It did not answer within ${withinMs / 1000} seconds.`,
    remedy: 'See whether it is running; a program that is fetched at its first start may take longer.',
  };
}
