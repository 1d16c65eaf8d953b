import { ToolcribError } from '../../base/errors.ts';
import { exactly, writeExact } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import type { Client } from '../../client/client.ts';
import { complain, withoutConcealed } from '../complain.ts';
import { formatExact, printable } from '../table.ts';
import { splitTarget, type ServerFlags } from './target.ts';
import { withClient } from './with-client.ts';

type Told = Readonly<Record<string, unknown>> & { readonly event: string };

/** `toolcrib watch`: prints what changes at a server, until Ctrl-C or until the connection ends. */
export async function watch(
  words: readonly string[],
  command: readonly string[],
  flags: ServerFlags,
): Promise<void> {
  const { meant, rest } = splitTarget(words, command, flags);
  await withClient({
    meant,
    options: { logLevel: 'debug' },
    talk: async (client, signal) => {
      const tell = (told: Told): void =>
        void process.stdout.write(flags.json ? formatExact(told, '') : lineOf(told));
      const ended = follow(client, tell);
      for (const uri of rest) await client.subscribe(uri);
      tell({ event: 'watching', server: withoutConcealed(client.label) });
      if (!mayTell(client)) complain('The server does not promise to tell of changes.');
      const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      // Nobody reads on, such as behind `head`.
      const unread = new Promise<void>((resolve) => void process.stdout.once('error', () => resolve()));
      // Between two streams of changes nothing else keeps this process.
      const alive = setInterval(() => {}, LONG_MS);
      await Promise.race([stopped, ended, unread]).finally(() => clearInterval(alive));
    },
  });
}

const LONG_MS = 60_000;

function mayTell({ server: { capabilities, isAssumed } }: Client): boolean {
  const parts = ['tools', 'prompts', 'resources'].map((name) => capabilities[name]).filter(isObject);
  return (
    isAssumed === true || parts.some((part) => part['listChanged'] === true || part['subscribe'] === true)
  );
}

function follow(client: Client, tell: (told: Told) => void): Promise<never> {
  client.on('toolsChanged', (tools) =>
    tell({ event: 'tools changed', ...(tools && { tools: tools.map(({ name }) => name) }) }),
  );
  client.on('promptsChanged', () => tell({ event: 'prompts changed' }));
  client.on('resourcesChanged', () => tell({ event: 'resources changed' }));
  client.on('resourceUpdated', ({ uri }) => tell({ event: 'resource updated', uri }));
  client.on('log', ({ level, logger, data }) =>
    tell({ event: 'log', level, ...(logger !== undefined && { logger }), data: exactData(data) }),
  );
  return new Promise((_, reject) => {
    client.on('state', (state) => {
      if (state.kind !== 'failed') return;
      reject(new ToolcribError('upstream_unavailable', state.reason));
    });
  });
}

function exactData(data: unknown): unknown {
  return typeof data === 'object' && data !== null ? exactly(data) : data;
}

function lineOf({ event, ...more }: Told): string {
  const details = Object.values(more).map((value) => (typeof value === 'string' ? value : writeExact(value)));
  return `${printable([event, ...details].join('  '))}\n`;
}
