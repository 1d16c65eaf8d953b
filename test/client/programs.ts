import { onTestFinished } from 'vitest';
import type { Client } from '../../src/index.ts';
import { connectStdio } from '../../src/node.ts';

/** Runs a server that is a few lines of JavaScript: `answer(message, write)` is called with every message. */
export async function runProgram(answer: string, options = {}): Promise<Client> {
  const client = await connectStdio(process.execPath, ['-e', programOf(answer)], options);
  onTestFinished(() => client.close());
  return client;
}

/** The whole program of such a server. */
export function programOf(answer: string): string {
  return `
    const write = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
    const discovered = { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0, cacheScope: 'private' };
    const answer = ${answer};
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => answer(JSON.parse(line)));
  `;
}
