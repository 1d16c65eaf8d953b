import { resolve } from 'node:path';
import { fillEntry, type ReadEntry, type WrittenEntry } from '../../config/foreign-entry.ts';

/** Reads an entry of `toolcrib.yaml`: it has no other keys than its own, and says how a program is kept in bounds. */
export async function readOwnEntry(name: string, written: WrittenEntry): Promise<ReadEntry> {
  const { filled, ...known } = fillEntry(written);
  if (!filled) return known;
  const { readUpstreamEntry } = await import('../../config/servers.ts');
  const { read, problems } = readUpstreamEntry(name, filled);
  if (!read) return { ...known, problems };
  const settings = { protocol: read.protocol, timeoutMs: read.timeoutSeconds * 1_000 };
  if ('url' in read) {
    const { url, headers, type } = read;
    const sse = type === 'sse' ? { transport: 'sse' as const } : {};
    return { ...known, target: { kind: 'url', url, headers, ...sse, ...settings } };
  }
  const { commandLine } = await import('../../gateway/upstreams/command-line.ts');
  const [command, ...args] = commandLine(read);
  const { env, cwd } = read;
  const folder = cwd === undefined ? {} : { folder: resolve(written.folder, cwd) };
  return { ...known, target: { kind: 'command', command, args, env, ...folder, ...settings } };
}
