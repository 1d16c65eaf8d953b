import { expect, expectTypeOf, test } from 'vitest';
import { defineTool, type Tool, type ToolContext } from './index.ts';

test('a tool is a description and a function that a model can run (000-01)', () => {
  const tool: Tool<{ city: string }> = defineTool(
    {
      name: 'get_weather',
      description: 'Tells the weather of a city.',
      input: { properties: { city: { type: 'string' } }, required: ['city'] },
    },
    ({ city }) => `Sunny in ${city}`,
  );
  expect(tool.handler({ city: 'Oslo' }, {} as ToolContext)).toBe('Sunny in Oslo');
  expectTypeOf<Tool>()
    .toHaveProperty('handler')
    .toBeCallableWith({}, {} as ToolContext);
});
