import type { OperationName, Operations } from './operations.ts';
import type { BodySize } from './work-queue.ts';
import type { WorkerClient } from './worker-client.ts';

/** Larger bodies are sent apart from rows. */
export const LARGE_BYTES = 16_384;

/** No limit on the size. */
export const ANY_BYTES = Number.MAX_SAFE_INTEGER;

/** Runs operations on the thread of a store, by name. */
export interface WorkerRequests {
  readonly ask: <N extends OperationName>(
    name: N,
    ...args: Parameters<Operations[N]>
  ) => Promise<ReturnType<Operations[N]>>;
  /** For operations with a body: apart from rows; those of one share keep their order. */
  readonly askApart: AskWithBody;
  /** The same, but a small body is sent together with rows. */
  readonly askBody: AskWithBody;
}

type AskWithBody = <N extends OperationName>(
  body: BodySize,
  name: N,
  ...args: Parameters<Operations[N]>
) => Promise<ReturnType<Operations[N]>>;

/** The ways to ask through a worker client. */
export function requestsOver(client: WorkerClient): WorkerRequests {
  return {
    ask: (name, ...args) => client.ask({ name, args }),
    askApart: (body, name, ...args) => client.askApart({ name, args }, body),
    askBody: (body, name, ...args) =>
      body.bytes <= LARGE_BYTES
        ? client.ask({ name, args }, body.bytes)
        : client.askApart({ name, args }, body),
  };
}
