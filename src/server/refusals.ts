import type { Caller } from '../core/caller.ts';
import { ToolcribError, type ErrorCode } from '../base/errors.ts';
import { recorded, type Refusal } from '../core/record.ts';
import type { Log } from '../observe/log.ts';

/** Called with each refusal. */
export interface RefusalOptions {
  readonly onRefusal?: ((refusal: Refusal) => void) | undefined;
  readonly onUnknown?: ((code: ErrorCode) => void) | undefined;
  readonly log?: Log | undefined;
}

/** The parts of a refused message that are reported, as far as it was read. */
interface Refused {
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>> | undefined;
}

/** Reports the refusal of a known caller, unless it is on record already. */
export function noteRefusal(
  { onRefusal, log }: RefusalOptions,
  error: unknown,
  { caller, message = {} }: { readonly caller: Caller; readonly message?: object },
): void {
  if (typeof error === 'object' && error !== null) {
    if (recorded.has(error)) return;
    recorded.add(error);
  }
  if (!onRefusal) return;
  const code = error instanceof ToolcribError ? error.code : 'internal';
  const { method, params }: Refused = message;
  tell(() => onRefusal({ caller, method, target: targetOf(params), code }), log);
}

/** Reports a request that was refused before its caller was known. */
export function noteUnknown({ onUnknown, log }: RefusalOptions, error: ToolcribError): void {
  if (onUnknown && !recorded.has(error)) tell(() => onUnknown(error.code), log);
}

// A listener that fails must not change the response to the client.
function tell(listener: () => void, log: Log | undefined): void {
  try {
    listener();
  } catch (cause) {
    log?.('error', 'A refusal could not be noted.', { cause });
  }
}

function targetOf(params: Refused['params']): string | undefined {
  const named = params?.['name'] ?? params?.['uri'] ?? params?.['taskId'];
  return typeof named === 'string' ? named : undefined;
}
