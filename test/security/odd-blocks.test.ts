import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ToolcribError } from '../../src/base/errors.ts';
import { showContent } from '../../src/cli/client/show-content.ts';
import { filterByAudience, resolveLinks, trimByPriority } from '../../src/client/calls/blocks.ts';
import { CallResult } from '../../src/client/calls/call-result.ts';
import { relayedResult } from '../../src/client/relay/result.ts';
import type { ContentBlock } from '../../src/core/content.ts';
import { withShownAddresses } from '../../src/core/merging/apps.ts';
import { defineTool, type Tool } from '../../src/core/tool.ts';
import { contentParts } from '../../src/host/models/content-parts.ts';
import { writeToolResult } from '../../src/protocol/encode/result.ts';
import { sanitize } from '../../src/stages/cleaning/sanitize.ts';
import { createTestCall } from '../../src/testing.ts';
import { revisions } from '../../src/protocol/revisions/revisions.ts';

const right: readonly object[] = [
  { type: 'text', text: 'a', annotations: { audience: ['user'], priority: 1 } },
  { type: 'image', data: 'AAAA', mimeType: 'image/png' },
  { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
  { type: 'resource_link', uri: 'a:b', name: 'b', title: 'c', description: 'd', mimeType: 'e', size: 1 },
  { type: 'resource', resource: { uri: 'a:b', mimeType: 'image/png', title: 'c', text: 'd', blob: 'AAAA' } },
];

// The last one cannot be made into text.
const wrong: readonly unknown[] = [
  undefined,
  null,
  5,
  true,
  'x',
  '{ ',
  [],
  [null],
  {},
  { toString: 1, valueOf: 1 },
];

function variantsOf(value: object): readonly object[] {
  return Object.entries(value).flatMap(([key, member]) => [
    ...wrong.map((other) => ({ ...value, [key]: other })),
    ...(isGroup(member) ? variantsOf(member).map((other) => ({ ...value, [key]: other })) : []),
  ]);
}

function isGroup(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const odd = [...right.flatMap(variantsOf), ...wrong].map(
  (block) => JSON.parse(JSON.stringify([block])) as unknown[],
);

const folder = mkdtempSync(join(tmpdir(), 'toolcrib-odd-blocks-'));
afterAll(() => rmSync(folder, { recursive: true }));

const tool: Tool = defineTool({ name: 't', description: 'Tells.' }, () => 'told');
const readers: readonly (readonly [string, (content: readonly ContentBlock[]) => unknown])[] = [
  ['relayed by a gateway', (content) => relayed(content)],
  ['cleaned by a gateway', (content) => cleaned(content, {})],
  ['cleaned and cut by a gateway', (content) => cleaned(content, { maxBytes: 1_024, escapeHtml: true })],
  ['renamed by a gateway', (content) => withShownAddresses(relayed(content), (uri) => uri.toUpperCase())],
  ...revisions.map(
    (revision) =>
      [
        `written for a client of ${revision.version}`,
        (content: readonly ContentBlock[]) =>
          JSON.parse(
            writeToolResult(relayed(content), tool, { revision, info: INFO, jsonText: 'compact' }),
          ) as unknown,
      ] as const,
  ),
  ['told to a model that sees images', (content) => told(content, true)],
  ['told to a model that sees no images', (content) => told(content, false)],
  ['read as text by a program', (content) => resultOf(content).text()],
  ['read as pictures by a program', (content) => resultOf(content).images()],
  ['read as data by a program', (content) => resultOf(content).data()],
  ['unwrapped by a program', (content) => resultOf(content).unwrap()],
  ['filtered by a program', (content) => filterByAudience(resultOf(content).content, 'user')],
  ['trimmed by a program', (content) => trimByPriority(resultOf(content).content, 100)],
  [
    'followed by a program',
    (content) =>
      resolveLinks(resultOf(content).content, {
        readResource: async (uri) => Promise.resolve({ contents: [{ uri }] }),
      }),
  ],
  ['shown in a terminal', (content) => showContent(content, { folder, name: 'x', look: 'coloured' })],
];

const INFO = { name: 'x', version: '1' };

describe('blocks of a server with wrong members break nothing', () => {
  test.each(readers)('when they are %s', async (_, read) => {
    const broken: unknown[] = [];
    for (const content of odd)
      try {
        await read(content as ContentBlock[]);
      } catch (error) {
        if (!(error instanceof ToolcribError)) broken.push([content, String(error)]);
      }
    expect(broken).toEqual([]);
  });
});

function resultOf(content: unknown): CallResult {
  return new CallResult(received(content));
}

function relayed(content: unknown): ReturnType<typeof relayedResult> {
  return relayedResult(received(content), 'tool');
}

function cleaned(content: unknown, options: Parameters<typeof sanitize>[0]): unknown {
  return sanitize(options).wrap!(tool, () => relayed(content))(createTestCall(tool, { arguments: {} }));
}

function received(content: unknown): ConstructorParameters<typeof CallResult>[0] {
  return { result: { content }, bytes: Buffer.from(JSON.stringify({ result: { content } })) };
}

function told(content: unknown, images: boolean): unknown {
  return contentParts(relayed(content), { features: { images }, server: 's' });
}
