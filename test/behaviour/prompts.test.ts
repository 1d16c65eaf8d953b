import { expect, test } from 'vitest';
import { content, definePrompt, defineResource, ToolRegistry } from '../../src/index.ts';
import { describeMatrix } from './matrix.ts';
import type { Json } from './peer.ts';

const summarise = definePrompt(
  {
    name: 'summarise',
    title: 'Summary',
    description: 'Summarises a note.',
    arguments: {
      day: {
        title: 'Day',
        description: 'Which day.',
        required: true,
        complete: (typed) => ['monday', 'tuesday', 'thursday'].filter((day) => day.startsWith(typed)),
      },
      style: { complete: (typed, { arguments: { day } }) => [`${typed} for ${day}`] },
    },
    icons: [{ src: 'https://example.com/sum.png' }],
    _meta: { 'com.example/team': 'notes' },
  },
  ({ day, style }) => `Summarise ${day}${style === undefined ? '' : `, ${style}`}.`,
);
const review = definePrompt({ name: 'review', description: 'Starts a review.' }, () => ({
  description: 'A review.',
  messages: [
    { role: 'user', content: content.text('Listen:') },
    { role: 'user', content: content.audio(Uint8Array.of(1), 'audio/wav') },
    { role: 'assistant', content: content.resourceLink({ uri: 'note://all', name: 'all' }) },
  ],
}));
const prompts = [summarise, review];

describeMatrix(({ era, titles, icons, audio, links, connect }) => {
  test('prompts are listed by name, with everything the revision defines for them (000-42)', async () => {
    const peer = await connect({ prompts });
    const { prompts: listed } = (await peer.result('prompts/list')) as { prompts: Json[] };
    expect(listed).toEqual([
      { name: 'review', description: 'Starts a review.', arguments: [] },
      {
        name: 'summarise',
        description: 'Summarises a note.',
        arguments: [
          { name: 'day', description: 'Which day.', required: true, ...(titles && { title: 'Day' }) },
          { name: 'style' },
        ],
        ...(titles && { title: 'Summary', _meta: { 'com.example/team': 'notes' } }),
        ...(icons && { icons: [{ src: 'https://example.com/sum.png' }] }),
      },
    ]);
  });

  test('a prompt is filled in by its arguments (000-42)', async () => {
    const peer = await connect({ prompts });
    const get = async (args: Json): Promise<unknown> =>
      (await peer.result('prompts/get', { name: 'summarise', arguments: args }))['messages'];
    const message = (text: string) => [{ role: 'user', content: { type: 'text', text } }];
    expect(await get({ day: 'monday' })).toEqual(message('Summarise monday.'));
    expect(await get({ day: 'monday', style: 'in one line' })).toEqual(
      message('Summarise monday, in one line.'),
    );
  });

  test('the messages of a prompt can have content blocks of any kind the revision has (000-42)', async () => {
    const peer = await connect({ prompts });
    const result = await peer.result('prompts/get', { name: 'review' });
    expect(result).toMatchObject({
      description: 'A review.',
      messages: [
        { role: 'user', content: { type: 'text', text: 'Listen:' } },
        { role: 'user', content: { type: audio ? 'audio' : 'text' } },
        { role: 'assistant', content: { type: links ? 'resource_link' : 'text' } },
      ],
    });
    if (era === 'modern') expect(result).toMatchObject({ resultType: 'complete' });
    else expect(Object.keys(result).toSorted()).toEqual(['description', 'messages']);
    expect(result).not.toHaveProperty('ttlMs');
  });

  test.each<[string, Json, RegExp]>([
    ['without a required argument', { name: 'summarise' }, /day: is required/],
    ['with an argument that is no text', { name: 'summarise', arguments: { day: 1 } }, /text/],
    ['with a list for arguments', { name: 'summarise', arguments: [] }, /object/],
    ['without a name', {}, /name/],
  ])('a prompt %s is refused (000-42)', async (_what, params, reason) => {
    const peer = await connect({ prompts });
    expect(await peer.error('prompts/get', params)).toMatchObject({
      code: -32602,
      message: expect.stringMatching(reason),
    });
  });

  test('an unknown prompt is a protocol error that names it (000-42)', async () => {
    const peer = await connect({ prompts });
    expect(await peer.error('prompts/get', { name: 'sumarise' })).toEqual({
      code: -32602,
      message: 'Unknown prompt: sumarise',
      data: { reason: 'prompt_not_found' },
    });
  });

  test('an exception of a prompt is an internal error that reveals nothing, and is in the log', async () => {
    const cause = new Error('password=hunter2');
    const broken = definePrompt({ name: 'broken' }, () => {
      throw cause;
    });
    const peer = await connect({ prompts: [broken] });
    expect(await peer.error('prompts/get', { name: 'broken' })).toMatchObject({ code: -32603 });
    expect(peer.wire.heard.join('')).not.toContain('hunter2');
    expect(peer.logged).toMatchObject([{ facts: { target: 'broken', cause } }]);
  });

  test('prompts are listed in pages', async () => {
    const peer = await connect({ prompts, pageSize: 1 });
    const first = await peer.result('prompts/list');
    const second = await peer.result('prompts/list', { cursor: first['nextCursor'] });
    expect([first, second]).toMatchObject([
      { prompts: [{ name: 'review' }] },
      { prompts: [{ name: 'summarise' }] },
    ]);
    expect(second).not.toHaveProperty('nextCursor');
    expect(await peer.error('prompts/list', { cursor: 'page-2' })).toMatchObject({ code: -32602 });
  });

  test('a prompt that is added or removed can be used, or is unknown, from then on', async () => {
    const source = new ToolRegistry().registerPrompt(summarise);
    const peer = await connect({ source });
    source.registerPrompt(review);
    source.removePrompt('summarise');
    expect((await peer.result('prompts/list'))['prompts']).toMatchObject([{ name: 'review' }]);
    expect(await peer.error('prompts/get', { name: 'summarise' })).toMatchObject({ code: -32602 });
  });

  test('values of a prompt argument are suggested, with regard to the arguments already chosen', async () => {
    const peer = await connect({ prompts });
    const complete = async (argument: Json, more: Json = {}): Promise<unknown> => {
      const ref = { type: 'ref/prompt', name: 'summarise' };
      return (await peer.result('completion/complete', { ref, argument, ...more }))['completion'];
    };
    expect(await complete({ name: 'day', value: 't' })).toEqual({
      values: ['tuesday', 'thursday'],
      total: 2,
      hasMore: false,
    });
    const context = { arguments: { day: 'monday' } };
    expect(await complete({ name: 'style', value: 'short' }, { context })).toMatchObject({
      values: ['short for monday'],
    });
  });

  test.each<[string, Json]>([
    ['of a prompt that never was', { ref: { type: 'ref/prompt', name: 'gone' } }],
    ['of neither a prompt nor a resource', { ref: { type: 'ref/tool', name: 'summarise' } }],
    ['of nothing', {}],
    ['without a value', { ref: { type: 'ref/prompt', name: 'summarise' }, argument: { name: 'day' } }],
  ])('completions %s are refused', async (_what, params) => {
    const peer = await connect({ prompts });
    const argument = { name: 'day', value: '' };
    expect(await peer.error('completion/complete', { argument, ...params })).toMatchObject({ code: -32602 });
  });
});

describeMatrix(({ connect }) => {
  test.each(['prompts/list', 'prompts/get'])(
    '%s is not a method of a server without prompts',
    async (method) => {
      const peer = await connect({ resources: [defineResource({ uri: 'note://a', name: 'a' }, () => 'a')] });
      expect(await peer.error(method, { name: 'summarise' })).toMatchObject({ code: -32601 });
    },
  );
});
