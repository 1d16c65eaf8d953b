export { trace, traceOptions, type TraceParts } from './stages/trace.ts';
