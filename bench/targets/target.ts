import type { AddressInfo } from 'node:net';

/** What the bench tells a target when it starts it. */
export interface TargetOptions {
  /** How many tools to register, the two echo tools included. */
  readonly tools: number;
  /** Whether there are two more tools, whose results take 32 kB. */
  readonly bulk?: boolean;
  /** The file that holds toolcrib's own answers, for the bare targets. */
  readonly answers?: string;
  /** How a bare stdio target writes: a write per answer, or one per chunk of requests read. */
  readonly write?: 'line' | 'chunk';
  /** The folder with the configuration, store and tools of a governed target. */
  readonly deployment?: string;
  /** Up to which step the line of a governed target goes. */
  readonly step?: LineStep;
  /** Where the record of a governed target goes; to the store unless set. */
  readonly journal?: 'memory';
}

/** What is added in turn to the line of a governed target. */
export const lineSteps = [
  'keys',
  'access',
  'limits',
  'sanitizeInput',
  'sanitize',
  'metrics',
  'audit',
] as const;

/** One of the steps. */
export type LineStep = (typeof lineSteps)[number];

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
