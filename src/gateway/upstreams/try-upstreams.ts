import { systemClock } from '../../base/clock.ts';
import { localCaller } from '../../core/caller.ts';
import { ToolRegistry } from '../../core/registry.ts';
import { governedName } from '../../core/tool.ts';
import { Metrics } from '../../observe/metrics.ts';
import { Secrets } from '../../observe/secrets.ts';
import type { LoadedConfig } from '../settings/load-config.ts';
import type { UpstreamState } from './state.ts';
import { Upstreams } from './upstreams.ts';

/** How long each upstream may take to be connected and listed, and the version that is told to it. */
export interface TryOptions {
  readonly withinMs: number;
  readonly version: string;
}

/** How upstreams stand, and the names of their tools that rules know them by, where no tenant needs to sign in. */
export interface TriedUpstreams {
  readonly states: readonly UpstreamState[];
  readonly tools: readonly string[];
}

/** Connects to every upstream of a configuration, has it listed with each account, and tells how that went. */
export async function tryUpstreams(
  { config, secrets }: LoadedConfig,
  { withinMs, version }: TryOptions,
): Promise<TriedUpstreams> {
  const live = new Secrets();
  for (const secret of secrets) live.add(secret);
  const upstreams = new Upstreams({ clock: systemClock, log: () => {}, live, metrics: new Metrics() });
  const settings = { ...config.upstreams, firstListSeconds: withinMs / 1000 };
  const { source } = upstreams.serve({ ...config, upstreams: settings }, new ToolRegistry(), version);
  try {
    await upstreams.tryAll();
    const states = upstreams.states.map((state) => (isUndecided(state) ? inTime(state, withinMs) : state));
    // What failed would be waited for again.
    const isListed = states.every(({ state }) => state !== 'failed' && state !== 'needs_sign_in');
    return { states, tools: isListed ? (await source.list(localCaller)).map(governedName) : [] };
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
