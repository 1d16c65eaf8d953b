import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { everythingForStaff, openCrib } from '../gateway.ts';
import { describeMatrix } from './matrix.ts';

const add = defineTool(
  {
    name: 'add',
    description: 'Adds two numbers.',
    input: { properties: { a: { type: 'number' } }, required: ['a'] },
  },
  ({ a }) => a + 1,
);
const weather = defineTool(
  {
    name: 'weather',
    description: 'Tells the weather.',
    output: { type: 'object', properties: { degrees: { type: 'number' } }, required: ['degrees'] } as const,
  },
  () => ({ degrees: 'many' }) as never,
);

describeMatrix(({ connect, structured }) => {
  test('arguments that break the schema are a protocol error where the server is configured so (002-17)', async () => {
    const peer = await connect({ tools: [add], invalidArguments: 'protocol' });
    expect(await peer.error('tools/call', { name: 'add', arguments: { a: 'x' } })).toMatchObject({
      code: -32602,
      message: expect.stringContaining('Invalid arguments for add'),
    });
    expect((await peer.call('add', { a: 1 })).content[0]!.text).toBe('2');
  });

  test('by default the model gets an error result for such arguments, in every revision (002-17)', async () => {
    const peer = await connect({ tools: [add] });
    expect(await peer.call('add', { a: 'x' })).toMatchObject({ isError: true });
  });

  test('an unknown tool has the error code that the server is configured with (003-41)', async () => {
    const peer = await connect({ tools: [add], errorCodes: { toolNotFound: -32003 } });
    expect(await peer.error('tools/call', { name: 'subtract' })).toMatchObject({
      code: -32003,
      message: 'Unknown tool: subtract',
    });
  });

  test('with onInvalidOutput "strip" a result that breaks its schema is sent as text alone (004-26)', async () => {
    const peer = await connect({ tools: [weather], onInvalidOutput: 'strip' });
    const result = await peer.call('weather');
    expect(result.content).toEqual([{ type: 'text', text: '{"degrees":"many"}' }]);
    expect(result).not.toHaveProperty('structuredContent');
    expect(result.isError).not.toBe(true);
    expect(
      structured === 'none' || (await (await connect({ tools: [weather] })).call('weather')).isError,
    ).toBe(true);
  });
});

test('a governed server follows these three settings, and records the call once (002-17, 003-41, 004-26)', async () => {
  const crib = await openCrib({
    offers: [add, weather],
    config: {
      server: {
        invalidArguments: 'protocol',
        errorCodes: { toolNotFound: -32003, invalidArguments: -32000 },
        onInvalidOutput: 'strip',
      },
      access: [everythingForStaff],
    },
  });
  const ada = await crib.connect('ada');
  expect(await ada.error('tools/call', { name: 'add', arguments: {} })).toMatchObject({ code: -32000 });
  expect(await ada.error('tools/call', { name: 'nope' })).toMatchObject({ code: -32003 });
  expect(await ada.call('weather')).toMatchObject({ content: [{ text: '{"degrees":"many"}' }] });
  expect(crib.rowsOf('add').map(({ outcome }) => outcome)).toEqual(['invalid_arguments']);
});
