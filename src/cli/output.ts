import { Writable } from 'node:stream';

let failure: string | undefined;
let reserved: Writable | undefined;

/** Handles errors of standard output: a command continues without it, so that its exit code is right. */
export function watchOutput(isServing: () => boolean): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    const { code = 'unknown reason' } = error;
    const isFirst = failure === undefined;
    failure ??= code;
    // A reader such as `head` has closed the pipe; that is no failure.
    if (code === 'EPIPE') return;
    if (isServing()) throw error;
    if (isFirst) process.stderr.write(`toolcrib: cannot write the output (${code})\n`);
    process.exitCode = 1;
  });
}

/** Why the output could not be written; `undefined` if it was. */
export function outputFailure(): Promise<string | undefined> {
  return new Promise((resolve) => {
    // The stream calls back before it emits the error.
    process.stdout.write('', () => setImmediate(() => resolve(failure)));
  });
}

/** Standard output for this program alone: from now on, what tools and their packages print goes to standard error. */
export function reserveOutput(): void {
  const write = process.stdout.write.bind(process.stdout);
  const own = new Writable({
    decodeStrings: false,
    write: (chunk: string | Buffer, _encoding, done) => void write(chunk, done),
  });
  process.stdout.on('close', () => own.destroy());
  // Standard output reports its errors itself.
  own.on('error', () => {});
  process.stdout.write = process.stderr.write.bind(process.stderr);
  reserved = own;
}

/** Where this program writes its output. */
export function standardOutput(): Writable {
  return reserved ?? process.stdout;
}
