import { ToolcribError } from '../../base/errors.ts';
import { exactly } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import type { Client } from '../../client/client.ts';
import { mayHave } from '../../client/opening/handshake.ts';
import { unlessStopped } from '../../client/server-questions.ts';
import { formatExact, formatTable } from '../table.ts';
import { firstLine } from './readable.ts';
import { lookFor } from './render-markdown.ts';
import { showResource } from './show-content.ts';
import { splitTarget, type ServerFlags } from './target.ts';
import { withClient } from './with-client.ts';

/** Options of `toolcrib read`. */
export interface ReadFlags extends ServerFlags {
  readonly save?: string;
}

/** `toolcrib read`: shows a resource, or lists what can be read. */
export async function read(
  words: readonly string[],
  command: readonly string[],
  flags: ReadFlags,
): Promise<void> {
  const { meant, rest } = splitTarget(words, command, flags);
  const [uri, more] = rest;
  if (more !== undefined)
    throw new ToolcribError('invalid_setup', `"${more}" is one word too many: name one resource or none.`);
  await withClient({
    meant,
    talk: async (client, signal) => {
      if (uri === undefined) return unlessStopped(signal, listAll(client, flags));
      const result = await client.readResource(uri, { signal });
      process.stdout.write(flags.json ? formatExact(exactly(result)) : await show(result['contents'], flags));
    },
  });
}

async function show(contents: unknown, { save = '.' }: ReadFlags): Promise<string> {
  const options = { folder: save, name: 'resource', look: lookFor(process.stdout) };
  const parts: string[] = [];
  for (const part of Array.isArray(contents) ? (contents as unknown[]) : []) {
    const text = isObject(part) ? await showResource(part, options) : '';
    parts.push(text.endsWith('\n') ? text : `${text}\n`);
  }
  return parts.join('');
}

async function listAll(client: Client, { json }: ReadFlags): Promise<void> {
  const has = mayHave(client.server, 'resources');
  const resources = has ? await client.listResources() : [];
  // Not every server with resources has templates.
  const resourceTemplates = has ? await client.listResourceTemplates().catch(() => []) : [];
  if (json) {
    const listed = {
      resources: resources.map(exactly),
      resourceTemplates: resourceTemplates.map(exactly),
    };
    process.stdout.write(formatExact(listed));
    return;
  }
  const rows = [...resources, ...resourceTemplates].map((one) => [
    textOf(one['uri'] ?? one['uriTemplate']),
    textOf(one['name']),
    firstLine(textOf(one['description']), 80),
  ]);
  process.stdout.write(formatTable(['RESOURCE', 'NAME', 'HOLDS'], rows, 'The server has no resources.'));
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
