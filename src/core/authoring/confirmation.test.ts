import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { propertyRuns } from '../../../test/property-runs.ts';
import { createTestCall } from '../../testing.ts';
import type { ToolContext } from '../context.ts';
import { requireConfirmation } from './confirmation.ts';
import { ToolRegistry } from '../registry.ts';
import { defineTool, type Tool, type ToolDefinition } from '../tool.ts';
import { withStages } from '../stage.ts';
import { checkArguments, validateInput, validateOutput } from '../essentials/validate.ts';
import { validatorOf } from '../../schema/validator.ts';

const seen: unknown[] = [];

function wipe(changes: Partial<ToolDefinition> = {}): Tool {
  seen.length = 0;
  const definition: ToolDefinition = {
    name: 'wipe',
    description: 'Wipes a disk.',
    input: z.object({ disk: z.string() }),
    annotations: { destructiveHint: true },
    ...changes,
  };
  return defineTool(definition, (args) => {
    seen.push(args);
    return { status: 'wiped' };
  });
}

function registryOf(tool: Tool): ToolRegistry {
  return new ToolRegistry().registerTool(requireConfirmation(tool));
}

test('the description ends by saying that the tool is destructive and requires confirmation (000-32)', () => {
  const { description } = requireConfirmation(wipe());
  expect(description).toBe('Wipes a disk. DESTRUCTIVE - requires confirmation.');
  const harmless = wipe({ annotations: { readOnlyHint: true } });
  expect(requireConfirmation(harmless).description).toBe('Wipes a disk. Requires confirmation.');
});

test('the tool takes a boolean `confirmed` that is false unless given (000-33)', () => {
  const { inputSchema } = requireConfirmation(wipe());
  expect(inputSchema).toMatchObject({
    properties: { disk: { type: 'string' }, confirmed: { type: 'boolean', default: false } },
    required: ['disk'],
  });
});

test.each([{}, { confirmed: false }])(
  'with %j the tool does not run, and the result says what it would do and how to confirm it (000-33)',
  async (consent) => {
    const answer = await registryOf(wipe()).execute('wipe', { disk: 'sda', ...consent });
    expect(answer).toEqual({
      status: 'confirmation_required',
      message:
        'Please confirm deletion by calling with confirmed=true. Nothing was done. wipe would run with {"disk":"sda"}. Ask the person you work for first, and call again with the same arguments.',
    });
    expect(seen).toEqual([]);
  },
);

test.each(['Please confirm deletion by calling with confirmed=true', 'Say so with confirmed=true!'])(
  'a tool can word its own question, followed by what it would do: %j (000-33)',
  async (message) => {
    const asking = requireConfirmation(wipe(), { message });
    const answer = await new ToolRegistry().registerTool(asking).execute('wipe', { disk: 'sda' });
    const asked = message.endsWith('!') ? message : `${message}.`;
    expect(answer).toEqual({
      status: 'confirmation_required',
      message: `${asked} Nothing was done. wipe would run with {"disk":"sda"}.`,
    });
    expect(seen).toEqual([]);
  },
);

test('when confirmed, the tool runs and does not see the confirmation (000-34)', async () => {
  expect(await registryOf(wipe()).execute('wipe', { disk: 'sda', confirmed: true })).toEqual({
    status: 'wiped',
  });
  expect(seen).toEqual([{ disk: 'sda' }]);
});

test.each(['true', 'yes', 1, null, [], {}, [true]])(
  'B12 %j does not confirm: the call is refused and nothing is done',
  async (confirmed) => {
    await expect(registryOf(wipe()).execute('wipe', { disk: 'sda', confirmed })).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: 'Invalid arguments for wipe: confirmed: must be true or false',
    });
    expect(seen).toEqual([]);
  },
);

test('B12 control: a naive check for truthy values accepts every one of these', () => {
  const naive = (args: { confirmed?: unknown }): boolean => Boolean(args.confirmed);
  for (const confirmed of ['true', 'yes', 1, [], {}]) expect(naive({ confirmed })).toBe(true);
});

test('B12 of all values of `confirmed`, only true runs the tool', async () => {
  const registry = registryOf(wipe());
  await fc.assert(
    fc.asyncProperty(
      fc.jsonValue().filter((value) => value !== true),
      async (confirmed) => {
        await registry.execute('wipe', { disk: 'sda', confirmed }).catch(() => {});
        expect(seen).toEqual([]);
      },
    ),
    { numRuns: propertyRuns() },
  );
});

test('B12 a confirmation of one call does not confirm the next', async () => {
  const registry = registryOf(wipe());
  await registry.execute('wipe', { disk: 'sda', confirmed: true });
  expect(await registry.execute('wipe', { disk: 'sdb' })).toMatchObject({ status: 'confirmation_required' });
  expect(await registry.execute('wipe', { disk: 'sda' })).toMatchObject({ status: 'confirmation_required' });
  expect(seen).toEqual([{ disk: 'sda' }]);
});

test('a tool that already requires confirmation is not changed', () => {
  const once = requireConfirmation(wipe());
  expect(requireConfirmation(once)).toBe(once);
});

test('B12 a `confirmed` parameter of the tool itself does not confirm: another name is used', async () => {
  const booking = wipe({ input: z.object({ confirmed: z.boolean() }) });
  const registry = registryOf(booking);
  expect(await registry.execute('wipe', { confirmed: true })).toEqual({
    status: 'confirmation_required',
    message: expect.stringMatching(/toolcrib_confirmed=true\. .*with \{"confirmed":true\}\./) as string,
  });
  await expect(registry.execute('wipe', { confirmed: true, toolcrib_confirmed: 'yes' })).rejects.toThrow(
    'toolcrib_confirmed: must be true or false',
  );
  expect(seen).toEqual([]);
  await registry.execute('wipe', { confirmed: false, toolcrib_confirmed: true });
  expect(seen).toEqual([{ confirmed: false }]);
});

test('B12 a tool with parameters of both names still requires confirmation', async () => {
  const taken = { confirmed: z.boolean().default(true), toolcrib_confirmed: z.boolean().default(true) };
  const registry = registryOf(wipe({ input: z.object(taken) }));
  expect(await registry.execute('wipe', { confirmed: true, toolcrib_confirmed: true })).toMatchObject({
    message: expect.stringContaining('toolcrib_toolcrib_confirmed=true') as string,
  });
  expect(seen).toEqual([]);
});

test('a tool whose schema lists no properties can be confirmed', async () => {
  const bare = { ...wipe(), inputSchema: { type: 'object' }, parseInput: undefined } as unknown as Tool;
  const tool = requireConfirmation(bare);
  expect(tool.inputSchema.properties).toHaveProperty('confirmed');
});

test.each([
  ['JSON Schema that forbids other fields', { properties: { disk: {} }, additionalProperties: false }],
  ['JSON Schema with a closed part', { allOf: [{ properties: { disk: {} }, additionalProperties: false }] }],
  ['a strict Zod object', z.strictObject({ disk: z.string() })],
  ['a loose Zod object', z.looseObject({ disk: z.string() })],
])('arguments are checked as before, without `confirmed`: %s', async (_what, input) => {
  const registry = registryOf(wipe({ input }));
  await registry.execute('wipe', { disk: 'sda', confirmed: true });
  expect(seen).toEqual([{ disk: 'sda' }]);
});

test('errors in the other arguments are reported, also without a confirmation', async () => {
  await expect(registryOf(wipe()).execute('wipe', { disk: 5 })).rejects.toMatchObject({
    code: 'invalid_arguments',
  });
  const both = registryOf(wipe()).execute('wipe', { disk: 5, confirmed: 'yes' });
  await expect(both).rejects.toThrow(/confirmed: must be true or false; disk: /);
});

test("the tool's own permission check sees only the arguments the author declared", async () => {
  const asked: unknown[] = [];
  const guarded = wipe({
    authorize: (args) => {
      asked.push(args);
      return 'Not you.';
    },
  });
  await expect(registryOf(guarded).execute('wipe', { disk: 'sda', confirmed: true })).rejects.toMatchObject({
    code: 'refused',
    message: 'Not you.',
  });
  expect(asked).toEqual([{ disk: 'sda' }]);
  expect(seen).toEqual([]);
});

test('an instance of a class keeps its methods and private fields', async () => {
  class Disk implements Tool {
    readonly name = 'wipe';
    readonly description = 'Wipes.';
    readonly inputSchema = { type: 'object', properties: {} } as const;
    readonly #secret = 'kept';
    authorize(): string {
      return `Not with ${this.#secret}.`;
    }
    handler(): string {
      return this.#secret;
    }
  }
  await expect(registryOf(new Disk()).execute('wipe', { confirmed: true })).rejects.toThrow('Not with kept.');
});

test('the output schema accepts both results, also for clients that check results', async () => {
  const tool = requireConfirmation(wipe({ output: z.object({ status: z.literal('wiped') }) }));
  expect(tool.outputSchema).toMatchObject({ type: 'object' });
  const source = withStages(new ToolRegistry().registerTool(tool), [validateInput, validateOutput]);
  for (const [confirmed, status] of [
    [false, 'confirmation_required'],
    [true, 'wiped'],
  ] as const) {
    const result = await source.call(createTestCall(tool, { arguments: { disk: 'sda', confirmed } }));
    expect(result).toMatchObject({ kind: 'done', data: { status } });
    expect(validatorOf(tool.outputSchema!)('data' in result ? result.data : undefined)).toHaveProperty(
      'value',
    );
  }
  expect(validatorOf(tool.outputSchema!)({ status: 'else' })).toHaveProperty('issues');
});

test('a result that breaks the output schema is still refused', async () => {
  const tool = requireConfirmation(wipe({ output: z.object({ bytes: z.number() }) }));
  const source = withStages(new ToolRegistry().registerTool(tool), [validateInput, validateOutput]);
  const call = createTestCall(tool, { arguments: { disk: 'sda', confirmed: true } });
  await expect((async () => source.call(call))()).rejects.toMatchObject({ code: 'invalid_output' });
});

test('references inside an output schema still work', () => {
  const output = {
    type: 'object',
    properties: { parts: { type: 'array', items: { $ref: '#' } }, name: { $ref: '#/$defs/name' } },
    required: ['name'],
    $defs: { name: { type: 'string' } },
  };
  const tool = requireConfirmation(wipe({ output }));
  new ToolRegistry().registerTool(tool);
  const check = validatorOf(tool.outputSchema!);
  expect(check({ name: 'a', parts: [{ name: 'b' }] })).toHaveProperty('value');
  expect(check({ name: 'a', parts: [{ name: 5 }] })).toHaveProperty('issues');
  expect(check({ status: 'confirmation_required', message: 'm' })).toHaveProperty('value');
});

test('the question shows hidden characters as codes, and cuts long arguments', async () => {
  const registry = registryOf(wipe());
  const message = async (disk: string): Promise<string> =>
    ((await registry.execute('wipe', { disk })) as { message: string }).message;
  expect(await message('sda\u{202e}bds\u{e0041}')).toContain('{"disk":"sda\\u202ebds\\udb40\\udc41"}');
  expect(await message('x'.repeat(5_000))).toContain('… (5011 characters in all)');
  expect((await message('x'.repeat(5_000))).length).toBeLessThan(1_300);
});

test('arguments that have no JSON form are not shown, and the tool can still be confirmed', async () => {
  const big = wipe({ input: z.object({ disk: z.string().transform(BigInt) }) });
  const registry = registryOf(big);
  expect(await registry.execute('wipe', { disk: '5' })).toMatchObject({
    message: expect.stringContaining('would run with these arguments') as string,
  });
  await registry.execute('wipe', { disk: '5', confirmed: true });
  expect(seen).toEqual([{ disk: 5n }]);
});

test('a tool whose check gives something else than a plain object does not run unconfirmed', async () => {
  const odd = requireConfirmation(wipe({ input: z.object({ disk: z.string() }).transform(() => new Map()) }));
  await expect((async () => checkArguments(odd, { disk: 'a', confirmed: true }))()).rejects.toThrow(
    'wipe cannot be confirmed',
  );
});

test.each([{}, { confirmed: 'true' }, { confirmed: 1 }])(
  'B12 the function itself requires confirmation, too, when it gets %j that nobody has checked',
  (unchecked) => {
    const answer = requireConfirmation(wipe()).handler({ disk: 'sda', ...unchecked }, {} as ToolContext);
    expect(answer).toMatchObject({ status: 'confirmation_required' });
    expect(seen).toEqual([]);
  },
);
