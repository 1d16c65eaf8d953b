import { join } from 'node:path';
import { cache } from './install.ts';

/** Where the servers that people use are installed. */
export const folder = join(cache, 'known-servers');
/** Which ones. */
export const packages = {
  '@modelcontextprotocol/server-everything': '2026.8.31',
  '@modelcontextprotocol/server-filesystem': '2026.8.31',
  '@modelcontextprotocol/server-memory': '2026.8.31',
  '@modelcontextprotocol/server-sequential-thinking': '2026.8.31',
  '@modelcontextprotocol/server-basic-vanillajs': '2.0.3',
  '@upstash/context7-mcp': '4.1.1',
  fastmcp: '4.20.16',
};

/** Variables that switch telemetry off. */
export const QUIET = { DO_NOT_TRACK: '1', OTEL_SDK_DISABLED: 'true' };
