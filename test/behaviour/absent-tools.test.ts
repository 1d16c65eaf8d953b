import { expect, test } from 'vitest';
import { Deadlines } from '../../src/base/deadlines.ts';
import { limitTime } from '../../src/core/essentials/limit-time.ts';
import { permit } from '../../src/core/essentials/permit.ts';
import { validateInput, validateOutput } from '../../src/core/essentials/validate.ts';
import {
  createServer,
  definePrompt,
  defineResource,
  defineTool,
  localCaller,
  ToolRegistry,
  withStages,
  type Stage,
} from '../../src/index.ts';
import { createFakeClock, createTestClient, type TestClientOptions } from '../../src/testing.ts';

type Version = NonNullable<TestClientOptions['protocolVersion']>;
const versions: readonly Version[] = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const hideSecret: Stage = {
  name: 'hideSecret',
  expose: (tool) => (tool.name === 'secret' ? null : tool),
};

const secret = defineTool(
  {
    name: 'secret',
    description: 'Reads secrets.',
    input: { properties: { path: { type: 'string' } }, required: ['path'] },
    requires: ['sampling'],
    authorize: () => 'You may not know this.',
  },
  () => 'ran',
);

test.each(versions)(
  'on %s a call of an unknown tool passes the stages and is answered as unknown',
  async (protocolVersion) => {
    const seen: string[] = [];
    const limits = { msFor: () => 30_000, deadlines: new Deadlines(createFakeClock()) };
    const stages = [noting(seen), validateInput, permit(limits), validateOutput, limitTime(limits)];
    const server = createServer({ source: withStages(new ToolRegistry(), stages) });
    await expect(
      createTestClient(server, { protocolVersion }).callTool('guess', { a: 1 }),
    ).rejects.toMatchObject({
      code: -32602,
      message: 'Unknown tool: guess',
      data: { reason: 'tool_not_found' },
    });
    expect(seen).toEqual(['guess']);
  },
);

// The stages a server adds by itself stand behind those the source brings, so that those see what is refused.
test('a call of an unknown tool passes the stages of a source that lacks some of the essential stages', async () => {
  const seen: string[] = [];
  const server = createServer({ source: withStages(new ToolRegistry(), [noting(seen)]) });
  await expect(createTestClient(server).callTool('guess')).rejects.toMatchObject({ code: -32602 });
  expect(seen).toEqual(['guess']);
});

test.each(versions)(
  'on %s a hidden tool and an unknown tool get the same response, byte for byte',
  async (protocolVersion) => {
    for (const args of [{}, { path: 1 }, { path: '/' }, { path: '/', more: true }]) {
      const hidden = await answerOf(protocolVersion, args, { stages: [hideSecret] });
      const unknown = await answerOf(protocolVersion, args, { stages: [hideSecret], isThere: false });
      expect(hidden).toBe(unknown);
      // The control: with nothing hidden the answers tell the two apart.
      const shown = await answerOf(protocolVersion, args, { stages: [] });
      expect(shown).not.toBe(unknown);
    }
  },
);

test.each(versions)(
  'on %s an unknown or hidden resource or prompt passes the stages, and both get the same response',
  async (protocolVersion) => {
    for (const [method, params] of [
      ['resources/read', { uri: 'note://secret' }],
      ['prompts/get', { name: 'secret' }],
    ] as const) {
      const hidden = await readingOf(protocolVersion, { method, params, isThere: true });
      const unknown = await readingOf(protocolVersion, { method, params, isThere: false });
      expect(hidden.reply).toBe(unknown.reply);
      expect(hidden.seen).toEqual([method === 'resources/read' ? 'resource' : 'prompt']);
      expect(unknown.seen).toEqual(hidden.seen);
      // The control: with nothing hidden the answers tell the two apart.
      const shown = await readingOf(protocolVersion, { method, params, isThere: true, isHidden: false });
      expect(shown.reply).not.toBe(unknown.reply);
    }
  },
);

interface AskedReading {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly isThere: boolean;
  readonly isHidden?: boolean;
}

async function readingOf(
  protocolVersion: Version,
  { method, params, isThere, isHidden = true }: AskedReading,
): Promise<{ readonly reply: string; readonly seen: string[] }> {
  const seen: string[] = [];
  const registry = new ToolRegistry()
    .registerResource(defineResource({ uri: 'note://open', name: 'open' }, () => 'text'))
    .registerPrompt(definePrompt({ name: 'open' }, () => 'Hello.'));
  if (isThere)
    registry
      .registerResource(defineResource({ uri: 'note://secret', name: 'secret' }, () => 'text'))
      .registerPrompt(definePrompt({ name: 'secret' }, () => 'Hello.'));
  const note: Stage = {
    name: 'note',
    wrapReading: (next) => (call) => (seen.push(call.kind), next(call)),
  };
  const hide: Stage = { name: 'hide', exposeReading: ({ name }) => !isHidden || name !== 'secret' };
  const server = createServer({ source: withStages(registry, [note, hide]) });
  const reply = await createTestClient(server, { protocolVersion })
    .request(method, params)
    .catch((error: unknown) => ({ ...(error as object), message: (error as Error).message }));
  return { reply: JSON.stringify(reply), seen };
}

function noting(seen: string[]): Stage {
  return { name: 'note', wrap: (tool, next) => (call) => (seen.push(tool.name), next(call)) };
}

async function answerOf(
  protocolVersion: Version,
  args: Record<string, unknown>,
  { stages, isThere = true }: { readonly stages: readonly Stage[]; readonly isThere?: boolean },
): Promise<string> {
  const registry = new ToolRegistry().register('other', () => 'ok');
  if (isThere) registry.registerTool(secret);
  const server = createServer({ source: withStages(registry, stages) });
  const isModern = protocolVersion === '2026-07-28';
  const _meta = isModern && {
    'io.modelcontextprotocol/protocolVersion': protocolVersion,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const reply = await server.handle(
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'secret', arguments: args, ...(_meta && { _meta }) },
    },
    { caller: localCaller, ...(!isModern && { protocolVersion }) },
  );
  return JSON.stringify(reply);
}
