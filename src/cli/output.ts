let failure: string | undefined;

/** Takes over what goes wrong with standard output: a command goes on without it, so that its exit code says what it found. */
export function watchOutput(isServing: () => boolean): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    const { code = 'unknown reason' } = error;
    const isFirst = failure === undefined;
    failure ??= code;
    // Whoever reads only the first lines has had enough; that is no failure.
    if (code === 'EPIPE') return;
    if (isServing()) throw error;
    if (isFirst) process.stderr.write(`toolcrib: cannot write the output (${code})\n`);
    process.exitCode = 1;
  });
}

/** Why something that was written has reached nobody, once that is known; nothing when it was taken. */
export function outputFailure(): Promise<string | undefined> {
  return new Promise((resolve) => {
    // The stream calls back before it tells of the failure.
    process.stdout.write('', () => setImmediate(() => resolve(failure)));
  });
}
