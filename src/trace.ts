export { trace, traceOptions, type TraceParts } from './stages/trace.ts';
export { traceRuns, type TraceRunsOptions } from './host/loop/trace-runs.ts';
