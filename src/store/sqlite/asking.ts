import type { OperationName, Operations } from './operations.ts';
import type { Body } from './work-queue.ts';
import type { WorkerClient } from './worker-client.ts';

/** What is larger goes apart from rows. */
export const LARGE_BYTES = 16_384;

/** However large. */
export const ANY_BYTES = Number.MAX_SAFE_INTEGER;

/** How the thread of a store is asked, by name and with what the operation takes. */
export interface Asking {
  readonly ask: <N extends OperationName>(
    name: N,
    ...args: Parameters<Operations[N]>
  ) => Promise<ReturnType<Operations[N]>>;
  /** For what brings or fetches a body: apart from rows, those of a share in their order. */
  readonly askApart: AskWithBody;
  /** The same, unless the body is small: then with everything else. */
  readonly askBody: AskWithBody;
}

type AskWithBody = <N extends OperationName>(
  body: Body,
  name: N,
  ...args: Parameters<Operations[N]>
) => Promise<ReturnType<Operations[N]>>;

/** The ways to ask over a line. */
export function askOver(client: WorkerClient): Asking {
  return {
    ask: (name, ...args) => client.ask({ name, args }),
    askApart: (body, name, ...args) => client.askApart({ name, args }, body),
    askBody: (body, name, ...args) =>
      body.bytes <= LARGE_BYTES
        ? client.ask({ name, args }, body.bytes)
        : client.askApart({ name, args }, body),
  };
}
