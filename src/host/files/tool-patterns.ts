import { compileGlob, restsAfter } from '../../base/glob.ts';
import type { AgentFormat } from '../agent-config.ts';

/** The meaning of a written name: patterns for tools, by server; empty if it is no tool of a known server. */
export type ServerPatterns = ReadonlyMap<string, readonly string[]>;

const PREFIXES: Readonly<Record<AgentFormat, (server: string) => readonly string[]>> = {
  toolcrib: (server) => [`${server}/`],
  'claude-code': (server) => [`mcp__${server}__`],
  copilot: (server) => [`${server}/`, `mcp__${server}__`],
  opencode: (server) => [`${server}_`],
  gemini: (server) => [`mcp_${server}_`, `${server}__`],
  'fast-agent': (server) => [`${server}__`, `${server}-`, `${server}.`],
  'docker-agent': (server) => [`${server}_`, `mcp:${server}:`],
  'amazon-q': (server) => [`@${server}/`],
};

// How a whole server is named; the bare name only where a format has no other way.
const WHOLE: Readonly<Record<AgentFormat, (server: string) => readonly string[]>> = {
  toolcrib: () => [],
  'claude-code': (server) => [`mcp__${server}`],
  copilot: (server) => [server, `mcp__${server}`],
  opencode: () => [],
  gemini: (server) => [`mcp_${server}`],
  'fast-agent': (server) => [server],
  'docker-agent': (server) => [`mcp:${server}`],
  'amazon-q': (server) => [`@${server}`],
};

/** Finds the tools that a name in a file of this format means, among servers with these names. */
export function patternsOf(written: string, format: AgentFormat, servers: readonly string[]): ServerPatterns {
  const found = servers.map((server): readonly [string, readonly string[]] => {
    const spellings = [...new Set([server, server.replaceAll(/[^\w-]/g, '_')])];
    const isWhole = spellings.some((name) =>
      WHOLE[format](name).some((whole) => restsAfter(written, whole).includes('')),
    );
    if (isWhole) return [server, ['*']];
    const rests = spellings.flatMap((name) =>
      PREFIXES[format](name).flatMap((prefix) => restsAfter(written, prefix)),
    );
    return [server, widest([...new Set(rests)].filter((rest) => rest !== ''))];
  });
  return new Map(found.filter(([, patterns]) => patterns.length > 0));
}

// What another pattern covers is left out.
function widest(patterns: readonly string[]): readonly string[] {
  return patterns.filter((one) => !patterns.some((other) => other !== one && compileGlob(other)(one)));
}
