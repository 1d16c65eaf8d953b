import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { deferred } from './deferred.ts';
import { describeMatrix } from './matrix.ts';
import { modernMeta } from './peer.ts';

const echo = defineTool({ name: 'echo', description: 'Answers.' }, () => 'echo');

// As written in the message; an object in the same process has no spelling, only a value.
const ids = [
  '0',
  '1',
  '-1',
  '-0',
  '0.5',
  '0.1234567890123456',
  '1e3',
  '1.0',
  '9007199254740993',
  '123456789012345678901234567890',
  '""',
  '"0"',
  '"a b"',
  '"\\u00e9\\/\\n"',
  '"größe-日本-🎉"',
  `"${'x'.repeat(128)}"`,
];

describeMatrix(({ era, transport, connect }) => {
  const message = (id: string, method: string, params: object): string => {
    const all = JSON.stringify({ ...params, ...(era === 'modern' && { _meta: modernMeta() }) });
    return `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${all}}`;
  };

  test.each(ids)('the response has the same id %s as the request (000-13)', async (id) => {
    const { wire } = await connect({ tools: [echo] });
    const answers = [
      await wire.send(message(id, 'tools/call', { name: 'echo' })),
      await wire.send(message(id, 'tools/list', {})),
      await wire.send(message(id, 'tools/call', { name: 'gone' })),
      await wire.send(message(id, 'no/such_method', {})),
    ];
    for (const answer of answers) {
      expect(answer).toMatch(/^\{"jsonrpc":"2\.0",/);
      if (transport === 'in process')
        expect(JSON.parse(answer!).id).toEqual(JSON.parse(JSON.stringify(JSON.parse(id))));
      else expect(answer!.replace(/,"(result|error)":.*/s, '')).toBe(`{"jsonrpc":"2.0","id":${id}`);
    }
  });

  test.each([
    ['null', 'null'],
    ['true', 'true'],
    ['a list', '[1]'],
    ['an object', '{"id":1}'],
    ['text of 129 bytes', `"${'x'.repeat(127)}é"`],
  ])('the refusal of a request with %s as its id has no id (000-13)', async (_what, id) => {
    const { wire } = await connect({ tools: [echo] });
    const answer = JSON.parse((await wire.send(message(id, 'tools/list', {})))!);
    expect(answer).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 } });
    expect(answer).not.toHaveProperty('id');
  });

  test('responses that come in another order still have the ids of their requests (000-13)', async () => {
    const held = deferred();
    const slow = defineTool({ name: 'slow', description: 'Waits.' }, () => held.promise);
    const { wire } = await connect({ tools: [slow, echo] });
    const first = wire.send(message('"first"', 'tools/call', { name: 'slow' }));
    const second = JSON.parse((await wire.send(message('2', 'tools/call', { name: 'echo' })))!);
    held.resolve();
    expect(second).toMatchObject({ id: 2, result: { content: [{ text: 'echo' }] } });
    expect(JSON.parse((await first)!)).toMatchObject({ id: 'first', result: { content: [] } });
  });
});
