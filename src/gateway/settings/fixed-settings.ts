import { complaintError } from '../../config/complaint.ts';
import type { Generation } from '../generation.ts';
import type { LoadedConfig } from './load-config.ts';

/** What needs a restart to change, by what it is called. */
export type Settings = Readonly<Record<string, unknown>>;

/** What a listening server cannot change under its clients, or was told when it was opened. */
export function fixedSettings({ loaded, authentication }: Generation): Settings {
  const { server, store, log, stages } = loaded.config;
  const { drainSeconds: _takesEffectAtOnce, ...settings } = server;
  const { retentionDays, checkpoints, checkpointSeconds } = stages.audit || {};
  return {
    ...Object.fromEntries(Object.entries(settings).map(([key, value]) => [`server.${key}`, value])),
    store,
    log,
    'stages.audit': [retentionDays, checkpoints, checkpointSeconds],
    'Where clients get tokens': authentication?.resource,
  };
}

/** The names of those that differ. */
export function differing(before: Settings, after: Settings): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}

/** Throws when sign-in would come or go: whoever adds it wants nobody let in without it from now on, whoever removes it wants nobody kept out, and neither can be promised to a server that runs. */
export function checkSignInStays(before: LoadedConfig, { config, complain }: LoadedConfig): void {
  if ((before.config.auth === undefined) === (config.auth === undefined)) return;
  const message = config.auth
    ? 'This server was started without sign-in and cannot take it up while it runs.'
    : 'This server was started with sign-in and cannot do without while it runs.';
  throw complaintError([complain(['auth'], { message, remedy: 'Restart it.', severity: 'error' })]);
}
