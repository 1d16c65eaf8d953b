import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, expect, test } from 'vitest';
import { registryAgent } from '../../../test/host/registry-agent.ts';
import { ToolcribError } from '../../base/errors.ts';
import { defineTool } from '../../core/tool.ts';
import { scripted } from '../models/scripted.ts';
import { runAgent } from './run-agent.ts';
import { traceRuns } from './trace-runs.ts';

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = provider.getTracer('test');
const secretive = defineTool(
  { name: 'look', description: 'Looks.', input: { type: 'object', properties: { at: { type: 'string' } } } },
  ({ at }) => {
    if (at === 'nothing') throw new ToolcribError('tool_failed', 'There is nothing.');
    return 'the answer is blue';
  },
);
const look = (at: string) => ({ toolCalls: [{ name: 'look', arguments: { at } }] });

afterEach(() => exporter.reset());

test('a run, its turns and its calls are nested spans of the GenAI conventions', async () => {
  const model = scripted([look('the sky'), look('nothing'), 'Blue.'], { name: 'gpt-test' });
  await runAgent(await registryAgent([secretive]), {
    model,
    prompt: 'Which colour?',
    spans: traceRuns({ tracer }),
  });
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name }) => name)).toEqual([
    'chat gpt-test',
    'execute_tool look',
    'chat gpt-test',
    'execute_tool look',
    'chat gpt-test',
    'invoke_agent tester',
  ]);
  const root = spans.at(-1)!;
  for (const span of spans.slice(0, -1))
    expect(span.parentSpanContext?.spanId).toBe(root.spanContext().spanId);
  expect(root.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'tester',
    'gen_ai.usage.input_tokens': expect.any(Number),
  });
  expect(spans[0]!.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'gpt-test',
    'gen_ai.response.finish_reasons': ['tool_calls'],
  });
  expect(spans[1]!.attributes).toMatchObject({ 'gen_ai.tool.name': 'look' });
  expect(spans[3]!.attributes).toMatchObject({ 'error.type': 'tool_error' });
});

test('messages are in no span unless that is switched on', async () => {
  const run = async (content: boolean) =>
    runAgent(await registryAgent([secretive]), {
      model: scripted([look('the sky'), 'Blue.']),
      prompt: 'Which colour?',
      spans: traceRuns({ tracer, content }),
    });
  const written = (): string =>
    JSON.stringify(exporter.getFinishedSpans().map(({ name, attributes }) => [name, attributes]));
  await run(false);
  expect(written()).not.toMatch(/colour|sky|blue/i);
  exporter.reset();
  await run(true);
  for (const word of ['Which colour', 'the sky', 'the answer is blue']) expect(written()).toContain(word);
});
