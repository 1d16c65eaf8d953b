import type { Log } from '../observe/log.ts';
import { Secrets } from '../observe/secrets.ts';
import type { LoadedConfig } from './settings/load-config.ts';

/** A log with the secrets it keeps to itself. */
export interface OpenedLog {
  readonly log: Log;
  readonly live: Secrets;
}

/** Opens the log; every secret the configuration brought is kept out of it. */
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

// What tools get from the environment is as secret as what the configuration does; their names tell.
function secretsIn(env: NodeJS.ProcessEnv): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) ? [value] : [],
  );
}

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL/i;

// A start with nothing to say is spared the loading; what is said until it is done is kept in order.
function onceLoaded(load: () => Promise<Log>): Log {
  const waiting: Parameters<Log>[] = [];
  let log: Log | undefined;
  return (...entry) => {
    if (log) {
      log(...entry);
      return;
    }
    waiting.push(entry);
    if (waiting.length > 1) return;
    void load().then((loaded) => {
      log = loaded;
      for (const early of waiting) loaded(...early);
    });
  };
}
