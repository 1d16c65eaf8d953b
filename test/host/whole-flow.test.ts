import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  contentParts,
  createToolBlock,
  errorOf,
  scripted,
  type Message,
  type ModelRequest,
  type ToolRequest,
} from '../../src/host.ts';
import { defineTool } from '../../src/index.ts';
import { serve } from '../client/peers.ts';
import { agentOf, serverOf } from './agents.ts';

test('a tool is found, chosen, checked by the client, called, checked by the server, run, checked again and reported (004-03)', async () => {
  const steps: string[] = [];
  // Checks that JSON Schema cannot express run on the server alone.
  const noted = (step: string) => (): boolean => steps.push(step) > 0;
  const weather = defineTool(
    {
      name: 'weather',
      description: 'Tells the weather.',
      input: z.object({ city: z.string() }).refine(noted('the server checks the arguments')),
      output: z.object({ degrees: z.number() }).refine(noted('the server checks the result')),
    },
    ({ city }) => {
      steps.push(`the server asks for ${city}`);
      return { degrees: 21 };
    },
  );
  const onMessage = (from: 'client' | 'server', text: string): void => {
    const { method } = JSON.parse(text) as { method?: string };
    if (from === 'client' && method?.startsWith('tools/')) steps.push(method);
  };
  const agent = await agentOf(
    { ours: serverOf({ url: await serve([weather]) }) },
    { mode: 'autonomous', connection: () => ({ onMessage }) },
  );
  const choosing =
    (args: ToolRequest['arguments']) =>
    ({ tools }: ModelRequest) => {
      steps.push('the model chooses');
      return { toolCalls: [{ name: tools[0]!.name, arguments: args }] };
    };
  const model = scripted([
    choosing({ city: 7 }),
    choosing({ city: 'Oslo' }),
    ({ messages }) => {
      const last = messages.at(-1)!;
      steps.push(`the model reads ${JSON.stringify(last.role === 'tool' && last.content.at(-1))}`);
      return 'It is 21 degrees in Oslo.';
    },
  ]);
  const block = createToolBlock(model);
  const messages: Message[] = [
    { role: 'user', content: [{ type: 'text', text: 'How warm is it in Oslo?' }] },
  ];
  let answer = '';
  for (let turn = 0; turn < 3; turn++) {
    const { tools } = block.view(agent.beginTurn());
    const request = { instructions: '', messages: [...messages], tools, parallel: false };
    for await (const event of model.respond(request, { signal: new AbortController().signal })) {
      if (event.type !== 'end') continue;
      answer = event.message.text;
      messages.push(event.message);
      for (const { id, name, arguments: args } of event.message.toolCalls) {
        const result = await agent.call(name, args as Record<string, unknown>);
        const code = errorOf(result)?.code;
        if (code) steps.push(`the client refuses: ${code}`);
        const told = contentParts(result, { features: model.features, server: 'ours' });
        messages.push({ role: 'tool', callId: id, name, ...told });
      }
    }
  }
  expect(answer).toBe('It is 21 degrees in Oslo.');
  // The list is read once more when the server begins to tell of changes.
  expect(steps.filter((step, at) => step !== 'tools/list' || at === 0)).toEqual([
    'tools/list',
    'the model chooses',
    'the client refuses: invalid_arguments',
    'the model chooses',
    'tools/call',
    'the server checks the arguments',
    'the server asks for Oslo',
    'the server checks the result',
    'the model reads {"type":"text","text":"{\\"degrees\\":21}"}',
  ]);
});
