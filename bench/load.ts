import type { BenchRequest } from './requests.ts';

/** A load on one target: one request, repeated. */
export interface Load {
  readonly url: string;
  readonly request: BenchRequest;
  readonly connections: number;
  readonly seconds: number;
}

/** What the load generator saw. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers other than 2xx, broken connections and timeouts. */
  readonly errors: number;
}

/** The program that puts load on a target. */
export interface LoadGenerator {
  readonly name: string;
  run(load: Load): Promise<LoadResult>;
}
