import { ToolcribError } from '../../base/errors.ts';
import { exactly } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import type { Client } from '../../client/client.ts';
import { RemoteError } from '../../client/errors.ts';
import { unlessStopped } from '../../client/server-questions.ts';
import type { ListedTool } from '../../core/tool.ts';
import { formatExact, formatTable, printable, printableLines } from '../table.ts';
import { firstLine, readable } from './readable.ts';
import { splitTarget, type ServerFlags } from './target.ts';
import { withClient } from './with-client.ts';

/** Options of `toolcrib list`. */
export interface ListFlags extends ServerFlags {
  readonly types?: boolean;
}

/** `toolcrib list`: shows the tools of a server, or one of them in full. */
export async function list(
  words: readonly string[],
  command: readonly string[],
  flags: ListFlags,
): Promise<void> {
  const { meant, rest } = splitTarget(words, command, flags);
  const [wanted, more] = rest;
  if (more !== undefined)
    throw new ToolcribError('invalid_setup', `"${more}" is one word too many: name one tool or none.`);
  await withClient({
    meant,
    talk: async (client, signal) => {
      const all = await unlessStopped(signal, toolsOf(client));
      const tools = wanted === undefined ? all : [toolIn(all, wanted)];
      process.stdout.write(await show(tools, flags, wanted === undefined ? 'all' : 'one'));
    },
  });
}

// A server without the capability may have the list all the same.
async function toolsOf(client: Client): Promise<readonly ListedTool[]> {
  try {
    return await client.listTools();
  } catch (error) {
    const isAbsent = error instanceof RemoteError && error.code === 'unknown_method';
    if (!isAbsent || 'tools' in client.server.capabilities) throw error;
    return [];
  }
}

/** The tool of a name; an error that says which there are if it is not there. */
export function toolIn(tools: readonly ListedTool[], wanted: string): ListedTool {
  const found = tools.find(({ name }) => name === wanted);
  if (found) return found;
  const names = tools.map(({ name }) => name).join(', ') || 'none';
  throw new ToolcribError(
    'unknown_tool',
    `There is no tool "${wanted}"; there are: ${firstLine(names, 500)}.`,
  );
}

async function show(
  tools: readonly ListedTool[],
  { json, types }: ListFlags,
  which: 'all' | 'one',
): Promise<string> {
  if (json) return formatExact(which === 'all' ? { tools: tools.map(exactly) } : exactly(tools[0]!));
  if (types) return typesOf(tools);
  if (which === 'one') return `${describe(tools[0]!)}\n${await typesOf(tools)}`;
  const width = Math.max(40, (process.stdout.columns ?? 160) - 60);
  const rows = tools.map((tool) => [
    tool.name,
    firstLine(argumentNames(tool.inputSchema), 48),
    firstLine(tool.description ?? '', width),
  ]);
  return formatTable(['TOOL', 'TAKES', 'DOES'], rows, 'The server has no tools.');
}

async function typesOf(tools: readonly ListedTool[]): Promise<string> {
  const { toolTypes } = await import('../codegen/tool-types.ts');
  return printableLines(toolTypes(tools));
}

function argumentNames(schema: unknown): string {
  if (!isObject(schema) || !isObject(schema['properties'])) return '';
  const required = Array.isArray(schema['required']) ? (schema['required'] as unknown[]) : [];
  return Object.keys(schema['properties'])
    .map((name) => (required.includes(name) ? name : `${name}?`))
    .join(', ');
}

function describe({ name, title, description, annotations }: ListedTool): string {
  const heading = typeof title === 'string' ? `${printable(name)}  ${printable(title)}` : printable(name);
  const hints = isObject(annotations)
    ? Object.entries(annotations).flatMap(([hint, value]) => (value === true ? [hint] : []))
    : [];
  return [
    heading,
    ...(typeof description === 'string' ? [readable(description)] : []),
    ...(hints.length > 0 ? [`The server says: ${hints.map(printable).join(', ')}`] : []),
    '',
  ].join('\n');
}
