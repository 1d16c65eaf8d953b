import * as fs from 'node:fs';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

// The suite imports `globSync` by name for a command that is not used here, and Node 20 does not have it.
if (isMainThread && !('globSync' in fs)) register(import.meta.url);

const completed = `data:text/javascript,${encodeURIComponent(`
  export * from 'node:fs';
  export function globSync() { throw new Error('Not available before Node 22.'); }
`)}`;

/** Gives the suite an `fs` that has everything it imports. */
export function resolve(specifier, context, next) {
  const fromSuite = context.parentURL?.includes('/@modelcontextprotocol/conformance/dist/');
  return fromSuite && specifier === 'fs' ? { url: completed, shortCircuit: true } : next(specifier, context);
}
