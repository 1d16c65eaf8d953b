export { listen } from './server/node-http.ts';
export type { Listening, ListenOptions } from './server/node-http.ts';
export { serveStdio } from './server/stdio.ts';
export type { StdioOptions } from './server/stdio.ts';
