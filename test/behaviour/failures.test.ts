import { expect, test } from 'vitest';
import { z } from 'zod';
import { content, defineTool, ToolRegistry } from '../../src/index.ts';
import { createFakeClock } from '../../src/testing.ts';
import { deferred } from './deferred.ts';
import { describeMatrix } from './matrix.ts';

const sendEmail = defineTool(
  {
    name: 'send_email',
    description: 'Sends an email.',
    input: z.object({ to: z.email(), copies: z.number().int().max(3).optional() }),
  },
  () => 'sent',
);

const tellTime = defineTool(
  {
    name: 'tell_time',
    description: 'Tells the time somewhere.',
    input: {
      properties: { zone: { enum: ['UTC', 'CET'] }, digits: { type: 'integer', minimum: 1 } },
      required: ['zone'],
      additionalProperties: false,
    },
  },
  () => 'noon',
);

const answering = (name: string, handler: () => unknown) =>
  defineTool({ name, description: 'Answers as the test says.' }, handler);

describeMatrix(({ connect }) => {
  test('arguments that break the schema come back as a result that names the field and the rule (001-04, 002-17, 003-18)', async () => {
    const peer = await connect({ tools: [sendEmail, tellTime] });
    const zod = await peer.call('send_email', { to: 'nobody', copies: 4 });
    expect(zod.isError).toBe(true);
    expect(zod.content[0]!.text).toMatch(/^Invalid arguments for send_email: to: .*email.*; copies: .*3/);

    const json = await peer.call('tell_time', { digits: 0, place: 'here' });
    expect(json.isError).toBe(true);
    for (const complaint of ['zone: is required', 'place: is not a known field', 'digits: must be >= 1']) {
      expect(json.content[0]!.text).toContain(complaint);
    }
  });

  test('a handler never sees arguments that break the schema (001-04)', async () => {
    let ran = false;
    const guarded = defineTool(
      { name: 'guarded', description: 'Takes a number.', input: { properties: { n: { type: 'number' } } } },
      () => {
        ran = true;
      },
    );
    const peer = await connect({ tools: [guarded] });
    expect((await peer.call('guarded', { n: 'one' })).isError).toBe(true);
    expect(ran).toBe(false);
  });

  test('an unknown tool is a protocol error that names it (002-17, 004-14)', async () => {
    const peer = await connect({ tools: [tellTime] });
    expect(await peer.error('tools/call', { name: 'tell_tiem', arguments: {} })).toEqual({
      code: -32602,
      message: 'Unknown tool: tell_tiem',
      data: { reason: 'tool_not_found' },
    });
  });

  test('a disabled or removed tool is unknown (004-14)', async () => {
    const source = new ToolRegistry().registerTool(tellTime, sendEmail);
    const peer = await connect({ source });
    source.disable('tell_time');
    source.remove('send_email');
    for (const name of ['tell_time', 'send_email']) {
      expect(await peer.error('tools/call', { name })).toMatchObject({
        code: -32602,
        message: `Unknown tool: ${name}`,
      });
    }
  });

  test.each([
    ['without a name', {}],
    ['with a name that is no text', { name: 7 }],
    ['with a list for arguments', { name: 'tell_time', arguments: ['UTC'] }],
    ['with text for arguments', { name: 'tell_time', arguments: 'UTC' }],
    [
      'with a progress token that is neither text nor whole',
      { name: 'tell_time', _meta: { progressToken: 1.5 } },
    ],
  ])('a call %s is a protocol error (002-17)', async (_what, params) => {
    const peer = await connect({ tools: [tellTime] });
    expect(await peer.error('tools/call', params)).toMatchObject({ code: -32602 });
  });

  test('an error that the tool reports is a result with isError, and its text is kept (002-18, 003-08)', async () => {
    const text = 'Failed to fetch: API rate limit exceeded';
    const peer = await connect({
      tools: [answering('fetch_data', () => ({ content: [content.text(text)], isError: true }))],
    });
    expect(await peer.call('fetch_data')).toMatchObject({ content: [{ type: 'text', text }], isError: true });
  });

  test.each([
    ['{ error }', { error: 'Table not allowed' }],
    ['{ success: false }', { success: false, error: 'No such page', code: 404 }],
  ])(
    'an error envelope %s is wrapped like any result and flagged (001-10, 002-18)',
    async (_what, envelope) => {
      const peer = await connect({ tools: [answering('query', () => envelope)] });
      const result = await peer.call('query');
      expect(JSON.parse(result.content[0]!.text)).toEqual(envelope);
      expect(result.isError).toBe(true);
      expect(result).not.toHaveProperty('structuredContent');
    },
  );

  test('an exception becomes a fixed text with an incident id, and the log has the cause under the same id', async () => {
    const cause = new Error('connect ECONNREFUSED db.internal:5432 password=hunter2');
    const peer = await connect({
      tools: [
        answering('query', () => {
          throw cause;
        }),
      ],
    });
    const result = await peer.call('query');
    expect(result.isError).toBe(true);
    const [, incident] = /^query failed unexpectedly \(incident ([0-9a-f]{8})\)\.$/.exec(
      result.content[0]!.text,
    )!;
    expect(peer.logged).toMatchObject([{ level: 'error', facts: { target: 'query', incident, cause } }]);
    expect(peer.wire.heard.join('\n')).not.toMatch(/ECONNREFUSED|hunter2/);
  });

  test('a thrown value that is not an Error is not sent to the client either', async () => {
    const peer = await connect({
      tools: [
        answering('query', () => {
          // oxlint-disable-next-line typescript/only-throw-error -- this is what the test is about.
          throw 'token=hunter2';
        }),
      ],
    });
    expect((await peer.call('query')).isError).toBe(true);
    expect(peer.wire.heard.join('\n')).not.toContain('hunter2');
    expect(peer.logged).toMatchObject([{ facts: { cause: 'token=hunter2' } }]);
  });

  test('a result that is not JSON is a failure of the tool, and is logged', async () => {
    const peer = await connect({ tools: [answering('count', () => ({ count: 1n }))] });
    const result = await peer.call('count');
    expect(result.isError).toBe(true);
    expect(result.content[0]!.text).toMatch(/^count returned something that is not JSON \(incident \w+\)\.$/);
    expect(peer.logged).toHaveLength(1);
  });

  test('an exception of the source is answered as an internal error that reveals nothing', async () => {
    const source = new ToolRegistry().registerTool(tellTime);
    source.list = () => {
      throw new Error('/etc/secrets is not readable');
    };
    const peer = await connect({ source });
    const error = await peer.error('tools/list');
    expect(error).toMatchObject({
      code: -32603,
      message: expect.stringMatching(/\(incident [0-9a-f]{8}\)\.$/),
    });
    expect(peer.wire.heard.join('\n')).not.toContain('secrets');
    expect(peer.logged).toMatchObject([{ facts: { incident: /incident (\w+)/.exec(error.message)![1] } }]);
  });

  test('a call that takes too long ends with an error result, and the handler’s signal is aborted', async () => {
    const clock = createFakeClock();
    const started = deferred<AbortSignal>();
    const dig = defineTool({ name: 'dig', description: 'Digs on and on.' }, (_args, { signal }) => {
      started.resolve(signal);
      return new Promise(() => {});
    });
    const peer = await connect({ tools: [dig], deadlineMs: 1_500, clock });
    const answer = peer.call('dig');
    const signal = await started.promise;
    clock.advance(1_499);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    expect(await answer).toMatchObject({
      content: [{ type: 'text', text: 'dig took over 1.5 s and was stopped.' }],
      isError: true,
    });
    expect(signal.aborted).toBe(true);
  });
});
