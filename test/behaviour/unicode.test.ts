import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { describeMatrix } from './matrix.ts';

// Characters of two, three and four bytes, a joined emoji, and the line separators that JSON leaves raw.
const text = '21 °C in Zürich — 日本語, 👩‍👩‍👧‍👦, \u2028\u2029, naïve, 🎉 end';

const echo = defineTool(
  {
    name: 'echo',
    description: `Echoes text, such as ${text}`,
    input: { properties: { text: { type: 'string' } }, required: ['text'] },
  },
  ({ text: said }, { progress }) => {
    progress(1, 1, said);
    return { said, length: said.length };
  },
);

describeMatrix(({ messages: hasMessages, structured, connect }) => {
  test('text in any script comes back as it was sent (004-06)', async () => {
    const peer = await connect({ tools: [echo] });
    const result = await peer.call('echo', { text });
    expect(JSON.parse(result.content[0]!.text)).toEqual({ said: text, length: text.length });
    if (structured !== 'none') expect(result.structuredContent).toEqual({ said: text, length: text.length });
    expect((await peer.list()).tools).toMatchObject([{ description: `Echoes text, such as ${text}` }]);
  });

  test('text in any script survives an event stream (004-06)', async () => {
    const peer = await connect({ tools: [echo] });
    const messages: unknown[] = [];
    const result = await peer.result(
      'tools/call',
      { name: 'echo', arguments: { text }, _meta: { progressToken: text } },
      { onNotification: ({ params }) => messages.push(params) },
    );
    const said = hasMessages ? { message: text } : {};
    expect(messages).toEqual([{ progressToken: text, progress: 1, total: 1, ...said }]);
    expect(JSON.stringify(result['content'])).toContain('Zürich — 日本語, 👩‍👩‍👧‍👦, \u2028\u2029, naïve, 🎉 end');
  });
});

describeMatrix(
  ({ connect }) => {
    test.each([1, 2, 3, 7])(
      'a message split every %i bytes, also within characters, is read whole (004-06)',
      async (pieceBytes) => {
        const peer = await connect({ tools: [echo] });
        const { content } = await peer.call('echo', { text }, { pieceBytes });
        expect(JSON.parse(content[0]!.text)).toEqual({ said: text, length: text.length });
      },
    );
  },
  ({ transport }) => transport !== 'in process',
);
