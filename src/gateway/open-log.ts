import type { Log } from '../observe/log.ts';
import { Secrets } from '../observe/secrets.ts';
import type { LoadedConfig } from './settings/load-config.ts';

/** A log and the secrets it redacts. */
export interface OpenedLog {
  readonly log: Log;
  readonly live: Secrets;
}

/** Opens the log; every secret of the configuration is redacted in it. */
export function openLog({ config, secrets }: LoadedConfig, given: Log | undefined): OpenedLog {
  const live = new Secrets();
  for (const secret of [...secrets, ...secretsIn(process.env)]) live.add(secret);
  if (given) return { log: given, live };
  const load = async (): Promise<Log> => {
    const { createLog } = await import('../observe/pino-log.ts');
    return createLog({ level: config.log.level, secrets: live });
  };
  return { log: onceLoaded(load), live };
}

// Secrets of tools in the environment, recognised by the names of their variables.
function secretsIn(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) ? [value] : [],
  );
}

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL/i;

const MAX_WAITING = 1_000;

// Loads the log with the first entry, for a fast start; entries until then are kept in order.
function onceLoaded(load: () => Promise<Log>): Log {
  const waiting: Parameters<Log>[] = [];
  let log: Log | undefined;
  let isLoading = false;
  return (...entry) => {
    if (log) {
      log(...entry);
      return;
    }
    waiting.push(entry);
    if (waiting.length > MAX_WAITING) waiting.shift();
    if (isLoading) return;
    isLoading = true;
    load().then(
      (loaded) => {
        log = loaded;
        for (const early of waiting.splice(0)) loaded(...early);
      },
      // Such as for want of descriptors, of which the entry may tell: the next one tries again.
      () => (isLoading = false),
    );
  };
}
