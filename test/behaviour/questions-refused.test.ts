import { once } from 'node:events';
import { expect, test } from 'vitest';
import { defineTool, type ToolContext } from '../../src/index.ts';
import { createFakeClock } from '../../src/testing.ts';
import { callAnswering } from './answering.ts';
import { deferred } from './deferred.ts';
import { describeMatrix, type Cell } from './matrix.ts';
import { describeWeb, modernPost } from './web.ts';

const everything = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const form = { message: 'Really?', schema: { properties: { ok: { type: 'boolean' } } } } as const;
const confirm = defineTool({ name: 'confirm', description: 'Asks first.' }, async (_args, { elicit }) => {
  const { action } = await elicit(form);
  return action;
});
const asking = {
  elicitation: (context: ToolContext) => context.elicit(form),
  'elicitation.url': ({ elicit }: ToolContext) => elicit({ message: 'Go.', url: 'https://example.com' }),
  sampling: ({ sample }: ToolContext) => sample({ messages: [], maxTokens: 1 }),
  roots: ({ roots }: ToolContext) => roots(),
} as const;
const required = {
  elicitation: { elicitation: {} },
  'elicitation.url': { elicitation: { url: {} } },
  sampling: { sampling: {} },
  roots: { roots: {} },
} as const;
const kinds = Object.keys(asking) as (keyof typeof asking)[];
const asker = (kind: keyof typeof asking) =>
  defineTool({ name: 'ask', description: 'Asks.' }, (_args, context) => asking[kind](context));

describeMatrix(
  ({ connect }) => {
    test.each(kinds)(
      'a client that did not declare %s gets an error that names the capability',
      async (kind) => {
        const peer = await connect({ tools: [asker(kind)] });
        expect(await peer.error('tools/call', { name: 'ask' })).toEqual({
          code: -32021,
          message: expect.stringContaining(kind),
          data: { requiredCapabilities: required[kind] },
        });
      },
    );

    test.each([...kinds, 'tasks'] as const)(
      'a tool that requires %s does not run for a client without it',
      async (kind) => {
        let ran = false;
        const tool = defineTool({ name: 'needy', description: 'Needs it.', requires: [kind] }, () => {
          ran = true;
        });
        const peer = await connect({ tools: [tool] });
        expect(await peer.error('tools/call', { name: 'needy' })).toMatchObject({
          code: -32021,
          data: {
            requiredCapabilities:
              kind === 'tasks' ? { extensions: { 'io.modelcontextprotocol/tasks': {} } } : required[kind],
          },
        });
        expect(ran).toBe(false);
        expect((await peer.list()).tools[0]).not.toHaveProperty('requires');
      },
    );
  },
  ({ era }) => era === 'modern',
);

describeMatrix(
  ({ connect }) => {
    test.each(kinds)('a client that did not declare %s gets a result that says so', async (kind) => {
      const peer = await connect({ tools: [asker(kind)] });
      const result = await peer.call('ask');
      expect(result.isError).toBe(true);
      expect(result.content[0]!.text).toMatch(/^This needs /);
    });

    test('a tool that requires a capability does not run for a client without it', async () => {
      let ran = false;
      const tool = defineTool({ name: 'needy', description: 'Needs it.', requires: ['sampling'] }, () => {
        ran = true;
      });
      const peer = await connect({ tools: [tool] });
      const result = await peer.call('needy');
      expect(result.content[0]!.text).toBe('This needs a client that can do sampling.');
      expect(result.isError).toBe(true);
      expect(ran).toBe(false);
    });
  },
  ({ era }) => era === 'legacy',
);

describeMatrix(
  ({ version, connect }) => {
    test('in a revision without questions a tool that asks gets an error result, whatever its client declares', async () => {
      const peer = await connect({ tools: [confirm] }, { capabilities: everything });
      expect(await peer.call('confirm')).toMatchObject({
        content: [{ text: expect.stringContaining(version) }],
        isError: true,
      });
    });
  },
  ({ hasSession, asks }) => hasSession && asks === 'not',
);

describeMatrix(
  ({ connect }) => {
    test('a tool that asks a client without a session ends with an error result that says so', async () => {
      const peer = await connect({ tools: [confirm] });
      expect(await peer.call('confirm')).toMatchObject({
        content: [{ text: expect.stringContaining('session') }],
        isError: true,
      });
    });
  },
  ({ canBeAsked }) => !canBeAsked,
);

describeWeb((open) => {
  test('a missing capability has status 400, before the handler ran or after', async () => {
    const needy = defineTool(
      { name: 'needy', description: 'Needs it.', requires: ['roots'] },
      () => 'unreachable',
    );
    const site = await open({ tools: [confirm, needy] });
    for (const name of ['confirm', 'needy']) {
      const response = await site.send(modernPost('tools/call', { name }));
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ error: { code: -32021 } });
    }
  });
});

const asksOnStream = ({ hasSession, asks }: Cell): boolean => hasSession && asks !== 'not';

describeMatrix(({ connect }) => {
  test('an invalid answer from the client ends the call with an error result that says so', async () => {
    const peer = await connect({ tools: [confirm] }, { capabilities: everything });
    const { result } = await callAnswering(peer, 'confirm', () => ({ action: 'maybe' }));
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/answered/) }] });
  });

  test('a client that refuses to answer ends the call with an error result, without its reason', async () => {
    const peer = await connect({ tools: [confirm] }, { capabilities: everything });
    const result = await peer.call(
      'confirm',
      {},
      {
        onNotification({ id }) {
          const error = { code: -1, message: 'User rejected sampling request' };
          if (id !== undefined) void peer.wire.send(JSON.stringify({ jsonrpc: '2.0', id, error }));
        },
      },
    );
    expect(result).toMatchObject({
      content: [{ text: 'The client could not answer a question that this needs.' }],
      isError: true,
    });
  });

  test('the deadline is paused while a person is asked, and runs again after the answer', async () => {
    const clock = createFakeClock();
    const goOn = deferred();
    const dig = defineTool({ name: 'dig', description: 'Asks, then digs.' }, async (_args, { elicit }) => {
      await elicit(form);
      goOn.resolve();
      return new Promise(() => {});
    });
    const peer = await connect({ tools: [dig], clock, deadlineMs: 1_000 }, { capabilities: everything });
    const answer = callAnswering(peer, 'dig', () => {
      clock.advance(30_000);
      return { action: 'decline' };
    });
    await goOn.promise;
    clock.advance(1_000);
    expect((await answer).result).toMatchObject({
      content: [{ text: 'dig took over 1 s and was stopped.' }],
      isError: true,
    });
  });

  test('the deadline is paused while any of several questions is open', async () => {
    const clock = createFakeClock();
    const firstAnswered = deferred();
    const both = defineTool({ name: 'both', description: 'Asks, and asks.' }, async (_args, { elicit }) => {
      const first = elicit({ ...form, message: 'First?' }).then(() => firstAnswered.resolve());
      // A turn later, so that it goes out on its own.
      await Promise.resolve();
      const second = elicit({ ...form, message: 'Second?' });
      await first;
      return (await second).action;
    });
    const peer = await connect({ tools: [both], clock, deadlineMs: 1_000 }, { capabilities: everything });
    const open: unknown[] = [];
    const bothAsked = deferred();
    const reply = (id: unknown): void => {
      const result = { action: 'decline' };
      void peer.wire.send(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    const answer = peer.call(
      'both',
      {},
      {
        onNotification({ id }) {
          if (id !== undefined && open.push(id) === 2) bothAsked.resolve();
        },
      },
    );
    await bothAsked.promise;
    reply(open[0]);
    await firstAnswered.promise;
    clock.advance(30_000);
    reply(open[1]);
    expect(await answer).toMatchObject({ content: [{ text: 'decline' }], isError: false });
  });

  test('a call that is cancelled while it asks the user is stopped', async () => {
    const started = deferred<AbortSignal>();
    const stopped = deferred<unknown>();
    const ask = defineTool({ name: 'ask', description: 'Asks.' }, async (_args, { elicit, signal }) => {
      started.resolve(signal);
      await elicit(form).catch((error: unknown) => stopped.resolve(error));
    });
    const peer = await connect({ tools: [ask] }, { capabilities: everything });
    const controller = new AbortController();
    const answer = peer.request('tools/call', { name: 'ask' }, { signal: controller.signal });
    const aborted = once(await started.promise, 'abort');
    controller.abort();
    await aborted;
    expect(await answer).toBeUndefined();
    expect(await stopped.promise).toMatchObject({ code: 'cancelled' });
  });
}, asksOnStream);
