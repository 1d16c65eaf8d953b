import { basename } from 'node:path';

/** What a program is called: of one that runs a package or a script, that tells more. */
export function programName(command: string, args: readonly string[]): string {
  const own = basename(command);
  const ran = args.find((word) => !word.startsWith('-'));
  const isRunner = /^(?:npx|uvx|bunx|docker|node|python3?|deno|bun)$/.test(own);
  return isRunner && ran !== undefined ? basename(ran) : own || 'server';
}

/** What a server at an address is called. */
export function siteName(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : 'remote';
}
