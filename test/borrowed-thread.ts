import { EventEmitter } from 'node:events';
import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads';

const idle: Worker[] = [];

/** The thread of a store, used before by others: to start one and load SQLite takes longer than most tests. */
export function borrowThread(built: URL): Worker {
  const thread =
    idle.pop() ?? new Worker(new URL('./store-thread.mjs', import.meta.url), { workerData: built.href });
  // It has what a store uses of a thread.
  return new BorrowedThread(thread) as unknown as Worker;
}

class BorrowedThread extends EventEmitter {
  readonly #thread: Worker;
  readonly #port: MessagePort;
  #isClosing = false;

  constructor(thread: Worker) {
    super();
    const { port1, port2 } = new MessageChannel();
    this.#thread = thread;
    this.#port = port1;
    port1.on('message', (message) => this.emit('message', message));
    // After its last message, so that none is lost.
    const isClosed = new Promise((resolve) => void port1.once('close', resolve));
    port1.unref();
    const fail = (error: unknown): void => void this.emit('error', error);
    const end = (): void => {
      thread.off('error', fail).off('message', free).off('exit', end);
      void isClosed.then(() => this.emit('exit', 0));
    };
    const free = (): void => {
      // One that failed may have left its database open.
      if (!this.#isClosing) return void thread.terminate();
      idle.push(thread);
      end();
    };
    thread.on('error', fail).on('message', free).on('exit', end);
    thread.unref();
    thread.postMessage(port2, [port2]);
  }

  postMessage(message: unknown): void {
    this.#isClosing ||= message === 'close';
    this.#port.postMessage(message);
  }

  ref(): void {
    this.#port.ref();
  }

  unref(): void {
    this.#port.unref();
  }

  terminate(): Promise<number> {
    return this.#thread.terminate();
  }
}
