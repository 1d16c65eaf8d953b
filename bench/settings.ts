/** How long and how often a run measures. */
export interface Settings {
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly warmUpSeconds: number;
  /** Load before each round that is not measured: code that was idle for a while has to warm up again. */
  readonly leadInSeconds: number;
  readonly connections: number;
  readonly stdioCalls: number;
  readonly stdioWindow: number;
  readonly startRuns: number;
  /** Calls of a round that measures a client. */
  readonly clientCalls: number;
}

/** A full run, the only kind that is written to RESULTS.md. */
export const fullRun: Settings = {
  rounds: 7,
  roundSeconds: 2,
  warmUpSeconds: 3,
  leadInSeconds: 1,
  connections: 64,
  stdioCalls: 200_000,
  stdioWindow: 256,
  startRuns: 15,
  clientCalls: 20_000,
};

/** A short run, to see that everything works. */
export const quickRun: Settings = {
  ...fullRun,
  rounds: 3,
  roundSeconds: 1,
  warmUpSeconds: 2,
  stdioCalls: 40_000,
  startRuns: 5,
  clientCalls: 10_000,
};
