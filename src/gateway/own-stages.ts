import { ToolcribError } from '../base/errors.ts';
import type { Stage } from '../core/stage.ts';
import { stderrLog, type Log } from '../observe/log.ts';
import { Secrets } from '../observe/secrets.ts';
import { createAccess } from '../stages/access/authorize.ts';
import type { OnToolCall } from '../stages/approve/decision.ts';
import type { Store } from '../store/store.ts';
import { createLasting } from './lasting.ts';
import { newSecret, openStore } from './open-store.ts';
import { configSchema, type ConfigInput } from './settings/config.ts';
import { createStandardStages } from './standard-stages.ts';

/** Options of the standard stages for a program, as in a configuration, and what they need. */
export interface StandardStageOptions extends Pick<ConfigInput, 'access' | 'stages'> {
  /** Where the record and all other lasting data is kept; in this process unless set. */
  readonly store?: Store;
  /** Keys the digests of arguments in the record; new for every process unless set. */
  readonly digestKey?: string;
  /** Asks a person about calls, where `stages.approve.mode` is `person`. */
  readonly onToolCall?: OnToolCall;
  readonly log?: Log;
  /** Secrets that must not appear in a result. */
  readonly secrets?: readonly string[];
}

/** The stages of `toolcrib serve` in their order, for a program of your own: put them in front of a source. */
export async function standardStages(options: StandardStageOptions = {}): Promise<readonly Stage[]> {
  const { store, digestKey = newSecret(), log = stderrLog, secrets = [], access, stages = {} } = options;
  const { onToolCall } = options;
  const checked = configSchema.safeParse(
    { store: { url: 'memory:' }, stages, ...(access && { access }) },
    { jitless: true },
  );
  if (!checked.success)
    throw new ToolcribError(
      'invalid_setup',
      `standardStages: ${checked.error.issues.map(describe).join('; ')}.`,
    );
  const config = checked.data;
  const opened = store
    ? { store, secrets: { pepper: newSecret(), digestKey } }
    : await openStore({ config, folder: '.' }, log);
  const live = new Secrets();
  for (const secret of secrets) live.add(secret);
  const parts = { access: config.access && (await createAccess(config.access)), onToolCall };
  return (await createStandardStages(config, createLasting(opened, log, live), parts)).inOrder;
}

function describe({
  path,
  message,
}: {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}): string {
  return `${path.map(String).join('.')}: ${message}`;
}
