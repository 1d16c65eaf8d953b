import { expect, test } from 'vitest';
import { createServer, defineTool, localCaller, ToolRegistry, type Caller } from '../../src/index.ts';
import { createTestClient, type TestClientOptions } from '../../src/testing.ts';

const ada: Caller = { ...localCaller, id: 'ada' };
const bob: Caller = { ...localCaller, id: 'bob' };

test.each<NonNullable<TestClientOptions['protocolVersion']>>([
  '2026-07-28',
  '2025-11-25',
  '2025-06-18',
  '2025-03-26',
  '2024-11-05',
])('on %s the tool’s own permission check runs before every call (000-40)', async (protocolVersion) => {
  const { server, ran } = notes();
  const asAda = createTestClient(server, { protocolVersion, caller: ada });
  const asBob = createTestClient(server, { protocolVersion, caller: bob });
  expect(await asAda.callTool('note', { owner: 'ada' })).toMatchObject({ text: 'text of ada' });
  expect(await asBob.callTool('note', { owner: 'ada' })).toMatchObject({
    isError: true,
    text: 'Only ada may read this.',
  });
  expect(await asAda.callTool('note', { owner: 'bob' })).toMatchObject({ isError: true });
  expect(await asAda.callTool('note', { owner: 'ada' })).toMatchObject({ text: 'text of ada' });
  expect(ran).toEqual(['ada', 'ada']);
});

test('a tool that asked the user is authorized again before it goes on (000-40)', async () => {
  let isAllowed = true;
  const ran: string[] = [];
  const remove = defineTool(
    { name: 'remove', description: 'Removes it.', authorize: () => isAllowed || 'Not any more.' },
    async (_args, { elicit }) => {
      await elicit({ message: 'Sure?', schema: { properties: {} }, key: 'sure' });
      ran.push('removed');
    },
  );
  const server = createServer({ source: new ToolRegistry().registerTool(remove) });
  const client = createTestClient(server, {
    answer() {
      isAllowed = false;
      return { action: 'accept', content: {} };
    },
  });
  expect(await client.callTool('remove')).toMatchObject({ isError: true, text: 'Not any more.' });
  expect(ran).toEqual([]);
});

test('an exception in the tool’s own permission check refuses the call and is not shown (000-40)', async () => {
  const ran: string[] = [];
  const broken = defineTool(
    {
      name: 'broken',
      description: 'Breaks.',
      authorize() {
        throw new Error('postgres://admin:secret@db is down');
      },
    },
    () => ran.push('ran'),
  );
  const server = createServer({ source: new ToolRegistry().registerTool(broken), log: () => {} });
  const answer: unknown = await createTestClient(server)
    .callTool('broken')
    .catch((error: unknown) => ({ ...(error as object), message: (error as Error).message }));
  expect(JSON.stringify(answer)).not.toContain('secret');
  expect(JSON.stringify(answer)).toContain('incident');
  expect(ran).toEqual([]);
});

function notes(): { readonly server: ReturnType<typeof createServer>; readonly ran: string[] } {
  const ran: string[] = [];
  const note = defineTool(
    {
      name: 'note',
      description: 'Reads a note.',
      input: { properties: { owner: { type: 'string' } }, required: ['owner'] },
      authorize: ({ owner }, { id }) => owner === id || `Only ${owner} may read this.`,
    },
    ({ owner }) => {
      ran.push(owner);
      return `text of ${owner}`;
    },
  );
  return { server: createServer({ source: new ToolRegistry().registerTool(note) }), ran };
}
