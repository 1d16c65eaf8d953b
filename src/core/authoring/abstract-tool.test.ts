import { expect, test } from 'vitest';
import { z } from 'zod';
import { AbstractTool } from './abstract-tool.ts';
import { localCaller } from '../caller.ts';
import type { ToolContext } from '../context.ts';
import { ToolRegistry } from '../registry.ts';
import type { Tool, ToolAnnotations } from '../tool.ts';

class WeatherTool extends AbstractTool<{ location: string; units: string }> {
  readonly #apiKey: string;

  constructor(apiKey: string) {
    super(
      'get_weather',
      'Tells the weather of a place.',
      {
        properties: {
          location: { type: 'string' },
          units: { enum: ['metric', 'kelvin'], default: 'metric' },
        },
        required: ['location'],
      },
      { readOnlyHint: true },
    );
    this.#apiKey = apiKey;
  }

  execute({ location, units }: { location: string; units: string }, { tenant }: ToolContext): unknown {
    return { location, units, tenant: tenant.name, hasKey: this.#apiKey !== '' };
  }
}

class Probe extends AbstractTool {
  execute(parameters: unknown): unknown {
    return this.validateParameters(parameters);
  }
}

class FileTool extends AbstractTool {
  execute(): string {
    return 'done';
  }

  protected override getDefaultAnnotations(): ToolAnnotations {
    return { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true };
  }
}

test('a class passes name, description, schema and annotations to its parent (001-20)', () => {
  expect(new ToolRegistry().registerTool(new WeatherTool('key')).getToolsList().tools).toEqual([
    {
      name: 'get_weather',
      description: 'Tells the weather of a place.',
      inputSchema: {
        type: 'object',
        properties: {
          location: { type: 'string' },
          units: { enum: ['metric', 'kelvin'], default: 'metric' },
        },
        required: ['location'],
      },
      annotations: { readOnlyHint: true },
    },
  ]);
});

test('a schema of properties and required is completed, and no other keyword is lost (001-21)', () => {
  const partial = {
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
    minProperties: 1,
    $defs: { b: {} },
    examples: [{ a: 'x' }],
  };
  expect(new Probe('probe', 'Probes.', partial).inputSchema).toEqual({ type: 'object', ...partial });
});

test('execute gets the parameters and the context (001-22)', async () => {
  const registry = new ToolRegistry().registerTool(new WeatherTool('key'));
  const tenant = { id: 'acme', name: 'Acme', data: {} };
  expect(await registry.execute('get_weather', { location: 'Oslo' }, { tenant })).toEqual({
    location: 'Oslo',
    units: 'metric',
    tenant: 'Acme',
    hasKey: true,
  });
});

test('execute may be called directly, which makes a class easy to test (001-22)', () => {
  const context = { tenant: localCaller.tenant } as ToolContext;
  expect(new WeatherTool('').execute({ location: 'Oslo', units: 'kelvin' }, context)).toEqual({
    location: 'Oslo',
    units: 'kelvin',
    tenant: 'Local',
    hasKey: false,
  });
});

test('validateParameters checks the whole schema and fills in defaults (001-23)', () => {
  const probe = new Probe('probe', 'Probes.', {
    properties: { limit: { type: 'integer', maximum: 100, default: 10 } },
    required: ['query'],
  });
  expect(probe.execute({ query: 'a' })).toEqual({ query: 'a', limit: 10 });
  expect(() => probe.execute({ limit: 101 })).toThrow(
    expect.objectContaining({
      code: 'invalid_arguments',
      message: 'Invalid arguments for probe: query: is required; limit: must be <= 100',
    }),
  );
});

test('a class sets the annotations of all its instances (001-50)', () => {
  expect(new FileTool('a', 'Does a.').annotations).toEqual({
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: true,
  });
});

test('annotations of the constructor win over those of the class (001-51)', () => {
  const tool = new FileTool('a', 'Does a.', {}, { destructiveHint: false, title: 'A' });
  expect(tool.annotations).toEqual({
    title: 'A',
    readOnlyHint: false,
    destructiveHint: false,
    idempotentHint: false,
    openWorldHint: true,
  });
});

test('a class may have a Zod schema, which then checks the parameters itself', async () => {
  const input = z.object({ even: z.number().refine((n) => n % 2 === 0, 'must be even') });
  class Halve extends AbstractTool<z.output<typeof input>> {
    execute({ even }: z.output<typeof input>): number {
      return even / 2;
    }
  }
  const registry = new ToolRegistry().registerTool(new Halve('halve', 'Halves an even number.', input));
  expect(await registry.execute('halve', { even: 4 })).toBe(2);
  await expect(registry.execute('halve', { even: 3 })).rejects.toMatchObject({
    message: 'Invalid arguments for halve: even: must be even',
  });
});

test('a changed copy of an instance, as stages make it, still runs', async () => {
  const tool: Tool<never> = new WeatherTool('key');
  const copy = { ...tool, description: 'Tells the weather, after asking.' };
  const registry = new ToolRegistry().registerTool(copy);
  expect(await registry.execute('get_weather', { location: 'Oslo' })).toMatchObject({ hasKey: true });
});

test('a class without a schema accepts any parameters', () => {
  expect(new FileTool('a', 'Does a.').inputSchema).toEqual({ type: 'object', properties: {} });
});

test('a class may declare a title and an output schema', () => {
  class Counter extends AbstractTool {
    readonly title = 'Count';
    readonly outputSchema = { type: 'object', properties: { n: { type: 'integer' } } };
    execute(): unknown {
      return { n: 1 };
    }
  }
  const [tool] = new ToolRegistry().registerTool(new Counter('count', 'Counts.')).getToolsList().tools;
  expect(tool).toMatchObject({ title: 'Count', outputSchema: { type: 'object' } });
});

test('fields of an instance are never shown to clients', () => {
  class Secretive extends FileTool {
    readonly password = 'hunter2';
  }
  const registry = new ToolRegistry().registerTool(new Secretive('a', 'Does a.'));
  expect(JSON.stringify(registry.getToolsList())).not.toContain('hunter2');
});

test('a broken schema is refused with the name of the tool', () => {
  expect(() => new FileTool('broken', 'Breaks.', { properties: { a: { type: 'text' } } })).toThrow(
    'Tool "broken": The schema at input.properties.a.type must be one of',
  );
});
