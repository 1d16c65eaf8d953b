import type { AddressInfo } from 'node:net';

/** What the bench tells a target when it starts it. */
export interface TargetOptions {
  /** How many tools to register, the two echo tools included. */
  readonly tools: number;
  /** The file that holds toolcrib's own answers, for the bare targets. */
  readonly answers?: string;
  /** How a bare stdio target writes: a write per answer, or one per chunk of requests read. */
  readonly write?: 'line' | 'chunk';
}

/** Reads the options from the command line. */
export function targetOptions(): TargetOptions {
  return JSON.parse(process.argv[2] ?? '{"tools":10}') as TargetOptions;
}

/** Tells the bench that the server listens, and where. */
export function announce(port: number): void {
  process.stdout.write(`${port}\n`);
  live();
}

/** Bounds the life of the process and, where there is no /proc, answers how much CPU it has used. */
export function live(): void {
  // Should the bench be killed outright, its targets still end by themselves.
  setTimeout(() => process.exit(), 30 * 60_000).unref();
  if (process.send === undefined) return;
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
}

/** The port of a listening server. */
export function portOf(server: { address(): AddressInfo | string | null }): number {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The target does not listen on a port.');
  return address.port;
}
