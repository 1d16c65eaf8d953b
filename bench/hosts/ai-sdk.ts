import { dynamicTool, generateText, jsonSchema, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { answer, calls, instructions, lookUp, offered, prompt, type Ask } from './question.ts';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

/** The AI SDK, as its documentation shows, with its own model for tests. */
export function openAiSdk(): Ask {
  const tools = Object.fromEntries(
    offered.map(({ name, description, schema }) => [
      name,
      dynamicTool({
        description,
        inputSchema: jsonSchema(schema as never),
        execute: async (args) => lookUp(args as { readonly id: string }),
      }),
    ]),
  );
  return async () => {
    const model = new MockLanguageModelV3({
      doGenerate: [
        {
          content: calls.map(({ id, name, arguments: args }) => ({
            type: 'tool-call' as const,
            toolCallId: id,
            toolName: name,
            input: JSON.stringify(args),
          })),
          finishReason: { unified: 'tool-calls', raw: undefined },
          usage,
          warnings: [],
        },
        {
          content: [{ type: 'text', text: answer }],
          finishReason: { unified: 'stop', raw: undefined },
          usage,
          warnings: [],
        },
      ],
    });
    const { text, steps } = await generateText({
      model,
      tools,
      system: instructions,
      prompt,
      stopWhen: stepCountIs(3),
    });
    if (text !== answer || steps[0]?.toolResults.length !== calls.length)
      throw new Error('The AI SDK answered something else.');
    return model.doGenerateCalls.map(({ prompt: said, tools: shown }) => ({ said, shown }));
  };
}
