import { beforeAll, describe, expect, test } from 'vitest';
import { cells, openFixture, type Fixture } from './cells.ts';
import type { SdkClient } from './clients.ts';
import { firstFew } from '../property-runs.ts';
import { Inbox } from './inbox.ts';

describe.each(firstFew(cells, 4))('$kind over $transport:', ({ kind, transport, connect }) => {
  let workshop: Fixture;
  let client: SdkClient;
  const entries = new Inbox<unknown>();
  const lists = new Inbox<readonly string[]>();
  const updates = new Inbox<string>();
  beforeAll(async () => {
    workshop = await openFixture('workshop', transport);
    client = await connect(workshop.address, {
      logged: (entry) => entries.put(entry),
      toolsChanged: (names) => lists.put(names),
      resourceUpdated: (uri) => updates.put(uri),
    });
    return async () => {
      await client.close();
      await workshop.close();
    };
  });

  test('lists and reads resources', async () => {
    expect(await client.listResources()).toEqual([
      { uri: 'note://today', name: 'today', title: 'Today', mimeType: 'text/markdown', size: 5 },
      { uri: 'picture://dot', name: 'dot', mimeType: 'image/png' },
    ]);
    expect(await client.listResourceTemplates()).toEqual([
      { uriTemplate: 'page://{book}/{number}', name: 'page', mimeType: 'text/plain' },
    ]);
    expect(await client.readResource('picture://dot')).toEqual([
      { uri: 'picture://dot', mimeType: 'image/png', blob: 'AQID' },
    ]);
    expect(await client.readResource('page://emma/12')).toEqual([
      { uri: 'page://emma/12', mimeType: 'text/plain', text: 'page 12 of emma' },
    ]);
  });

  test('gets an error for a resource that does not exist', async () => {
    // The second SDK turns the number of the older revisions into the one of the newest.
    const unknown = {
      code: kind === 'SDK v1' ? -32002 : -32602,
      message: expect.stringContaining('Unknown resource'),
    };
    await expect(client.readResource('page://none/1')).rejects.toMatchObject(unknown);
    await expect(client.readResource('nothing://here')).rejects.toMatchObject(unknown);
  });

  test('is notified of changes of a resource while it is subscribed to it', async () => {
    expect(await client.readResource('note://today')).toMatchObject([{ text: 'first' }]);
    const unsubscribe = await client.subscribe('note://today');
    await client.callTool('change_note', { text: 'second' });
    expect(await updates.next()).toBe('note://today');
    expect(await client.readResource('note://today')).toMatchObject([{ text: 'second' }]);
    await unsubscribe();
    await client.callTool('change_note', { text: 'third' });
    await client.subscribe('note://today');
    await client.callTool('change_note', { text: 'fourth' });
    expect(await updates.next()).toBe('note://today');
    expect(await client.readResource('note://today')).toMatchObject([{ text: 'fourth' }]);
    expect(updates.count).toBe(2);
  });

  test('lists prompts, gets one, and completes its arguments and those of templates', async () => {
    expect(await client.listPrompts()).toEqual([
      {
        name: 'review',
        title: 'Review',
        description: 'Reviews something.',
        arguments: [{ name: 'what', description: 'What to review.', required: true }, { name: 'tone' }],
      },
    ]);
    expect(await client.getPrompt('review', { what: 'this', tone: 'kind' })).toMatchObject({
      messages: [{ role: 'user', content: { type: 'text', text: 'Review this in a kind tone.' } }],
    });
    await expect(client.getPrompt('review')).rejects.toMatchObject({ code: -32602 });
    expect(await client.complete({ type: 'ref/prompt', name: 'review' }, 'tone', 'k')).toEqual([
      'kind',
      'keen',
    ]);
    const template = { type: 'ref/resource', uri: 'page://{book}/{number}' } as const;
    expect(await client.complete(template, 'book', 'mo')).toEqual(['moby', 'mort']);
  });

  test('gets log messages of the level it set, and above', async () => {
    await client.setLoggingLevel('warning');
    await client.callTool('speak');
    expect(await entries.next()).toEqual({ level: 'warning', logger: 'workshop', data: { what: 'loud' } });
    expect(await entries.next()).toEqual({ level: 'error', data: 'very loud' });
    await client.setLoggingLevel('debug');
    await client.callTool('speak');
    expect(await entries.next()).toEqual({ level: 'debug', data: 'quiet' });
  });

  test('is notified of a new tool, lists again, and calls it', async () => {
    expect((await client.listTools()).map(({ name }) => name)).not.toContain('a_new_tool');
    await client.callTool('add_tool');
    expect(await lists.next()).toContain('a_new_tool');
    expect((await client.listTools()).map(({ name }) => name)).toContain('a_new_tool');
    expect(await client.callTool('a_new_tool')).toMatchObject({ content: [{ text: 'new' }] });
  });
});
