import { complaintError } from '../../config/complaint.ts';
import type { Generation } from '../generation.ts';
import type { LoadedConfig } from './load-config.ts';

/** Settings that need a restart to change, by name. */
export type Settings = Readonly<Record<string, unknown>>;

/** The settings a listening server cannot change, or that were passed when it was opened. */
export function fixedSettings({ loaded, authentication }: Generation): Settings {
  const { server, store, log, stages, auth } = loaded.config;
  const { drainSeconds: _takesEffectAtOnce, ...settings } = server;
  const { retentionDays, checkpoints, checkpointSeconds } = stages.audit || {};
  return {
    ...Object.fromEntries(Object.entries(settings).map(([key, value]) => [`server.${key}`, value])),
    store,
    log,
    'auth.stdio': auth?.stdio,
    'stages.audit': [retentionDays, checkpoints, checkpointSeconds],
    'Where clients get tokens': authentication?.resource,
  };
}

/** The names of the settings that differ. */
export function differing(before: Settings, after: Settings): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}

/**
 * Throws if a reload would add or remove sign-in. Added, it must refuse everyone without it at once; removed, it must
 * refuse nobody. A running server can promise neither.
 */
export function checkSignInStays(before: LoadedConfig, { config, complain }: LoadedConfig): void {
  if ((before.config.auth === undefined) === (config.auth === undefined)) return;
  const message = config.auth
    ? 'This server was started without sign-in, which cannot be added while it runs.'
    : 'This server was started with sign-in, which cannot be removed while it runs.';
  throw complaintError([complain(['auth'], { message, remedy: 'Restart it.', severity: 'error' })]);
}
