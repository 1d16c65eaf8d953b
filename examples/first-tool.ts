import { createServer, defineTool, ToolRegistry } from 'toolcrib';
import { listen } from 'toolcrib/node';
import { z } from 'zod';

const rollDice = defineTool(
  {
    name: 'roll_dice',
    description: 'Rolls dice. Returns each roll and the sum. Use it when chance should decide.',
    input: z.object({
      count: z.number().int().min(1).max(100).default(1),
      sides: z.number().int().min(2).default(6),
    }),
    output: z.object({ rolls: z.array(z.number()), sum: z.number() }),
    annotations: { readOnlyHint: true },
  },
  ({ count, sides }) => {
    const rolls = Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides));
    return { rolls, sum: rolls.reduce((a, b) => a + b) };
  },
);

const server = createServer({ name: 'dice', source: new ToolRegistry().registerTool(rollDice) });
console.log((await listen(server, { port: Number(process.env['PORT'] ?? 8484) })).url);
