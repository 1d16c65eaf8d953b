import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startNode } from '../behaviour/child.ts';
import { within } from '../within.ts';
import { openFixture, type Transport } from './cells.ts';
import { cache, INSTALL_MS, installInto } from './install.ts';

interface Outsider {
  readonly name: string;
  /** What is installed, at the last versions that run on Node 20. */
  readonly packages: Readonly<Record<string, string>>;
  /** Which revision it ends up with, by the transports it has. */
  readonly revisions: Partial<Record<Transport, string>>;
}

const everywhere = { HTTP: '2025-11-25', SSE: '2025-11-25', stdio: '2025-11-25' };

const outsiders: readonly Outsider[] = [
  {
    name: 'sdk-first',
    packages: { '@modelcontextprotocol/sdk': '1.0.4', eventsource: '3.0.7' },
    revisions: { SSE: '2024-11-05', stdio: '2024-11-05' },
  },
  { name: 'ai-sdk', packages: { '@ai-sdk/mcp': '1.0.101', zod: '4.6.7' }, revisions: everywhere },
  {
    name: 'openai-agents',
    packages: { '@openai/agents': '0.20.0', zod: '4.6.7' },
    revisions: { ...everywhere, HTTP: '2026-07-28', stdio: '2026-07-28' },
  },
  {
    name: 'langchain',
    packages: {
      '@langchain/mcp-adapters': '1.1.4',
      '@langchain/core': '1.2.13',
      '@langchain/langgraph': '1.4.18',
    },
    revisions: everywhere,
  },
  {
    name: 'mastra',
    packages: { '@mastra/mcp': '0.14.1', '@mastra/core': '0.23.3', zod: '3.25.76' },
    revisions: { HTTP: '2025-11-25', stdio: '2025-11-25' },
  },
  {
    name: 'mcp-use',
    packages: {
      'mcp-use': '1.34.6',
      langchain: '1.5.14',
      '@langchain/core': '1.2.13',
      react: '^19.0.0',
      'react-dom': '^19.0.0',
      zod: '4.6.7',
    },
    revisions: { HTTP: '2025-11-25', stdio: '2025-11-25' },
  },
];

const RUN_MS = 60_000;
// Telemetry is off.
const QUIET = {
  DO_NOT_TRACK: '1',
  MCP_USE_ANONYMIZED_TELEMETRY: 'false',
  MASTRA_TELEMETRY_DISABLED: '1',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
};

describe.each(outsiders)('$name', ({ name, packages, revisions }) => {
  const folder = join(cache, 'outsiders', name);
  let missing: string | undefined;
  beforeAll(async () => {
    missing = await installInto(folder, packages);
  }, INSTALL_MS + 10_000);
  beforeEach(({ skip }) => skip(missing !== undefined, missing));

  test.each(Object.entries(revisions) as [Transport, string][])(
    'lists and calls tools over %s, on %s',
    async (transport, revision) => {
      const shop = await openFixture('tool-shop', transport);
      try {
        const script = join(folder, 'outsider.mjs');
        copyFileSync(join(import.meta.dirname, `outsiders/${name}.mjs`), script);
        const child = startNode([script, JSON.stringify(shop.address)], QUIET);
        const output = await within(RUN_MS, `the output of ${name}`, text(child.process.stdout));
        if (output === '') throw new Error(`${name} said nothing: ${child.complaints()}`);
        const said = JSON.parse(output.slice(output.lastIndexOf('{"tools"'))) as Record<string, unknown>;
        expect(said['tools']).toContain('describe_client');
        expect(JSON.stringify(said['who'])).toContain(revision);
        expect(said['more']).toBeDefined();
      } finally {
        await shop.close();
      }
    },
    RUN_MS + 30_000,
  );
});
