import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { runAgent, scripted, type Message, type ModelRequest, type ScriptedTurn } from '../../src/host.ts';
import { defineTool, ToolRegistry } from '../../src/index.ts';
import { notionTools } from '../../src/tools.ts';
import { serve } from '../client/peers.ts';
import { agentOf, serverOf } from './agents.ts';

/** Starts an API of somebody else on this machine. */
async function startApi(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<string> {
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const send = (response: ServerResponse, body: object): unknown =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));

function lastResult({ messages }: ModelRequest): string {
  const last = messages.findLast((message: Message) => message.role === 'tool');
  return last?.role === 'tool'
    ? last.content.map((part) => ('text' in part ? part.text : '')).join('\n')
    : '';
}

test('a question in words passes through model, host, client, server and the Notion API, and is answered in words (000-03)', async () => {
  const asked: unknown[] = [];
  const notion = await startApi(async (request, response) => {
    asked.push({ url: request.url, token: request.headers.authorization, body: await json(request) });
    send(response, {
      object: 'list',
      has_more: false,
      next_cursor: null,
      results: [
        {
          object: 'page',
          id: 'p1',
          url: 'https://www.notion.so/p1',
          created_time: '2026-01-01T00:00:00.000Z',
          last_edited_time: '2026-01-02T00:00:00.000Z',
          properties: { Name: { id: 'title', type: 'title', title: [{ plain_text: 'Roadmap 2027' }] } },
        },
      ],
    });
  });
  const tools = notionTools({ token: 'secret_notion_token', baseUrl: notion });
  const url = await serve(new ToolRegistry().registerTool(...tools));
  const agent = await agentOf({ notion: serverOf({ url }, { trust: 'trusted' }) });

  // A model that goes by what it reads: the question, the descriptions of tools, and what comes back.
  const choose = ({ messages, tools: offered }: ModelRequest): ScriptedTurn => {
    const question = JSON.stringify(messages[0]);
    const tool = offered.find(({ description }) => /search/i.test(description))!;
    return { toolCalls: [{ name: tool.name, arguments: { query: /about (\w+)/.exec(question)![1]! } }] };
  };
  const answer = (request: ModelRequest): string => {
    const title = /"title":"([^"]+)"/.exec(lastResult(request))![1]!;
    return `There is one page about it: ${title}.`;
  };
  const run = await runAgent(agent, {
    model: scripted([choose, answer]),
    prompt: 'Which pages do we have about roadmaps?',
  });

  expect(run).toMatchObject({
    ending: { kind: 'finished' },
    text: 'There is one page about it: Roadmap 2027.',
    usage: { calls: 1 },
  });
  expect(asked).toMatchObject([
    { url: '/search', token: 'Bearer secret_notion_token', body: { query: 'roadmaps' } },
  ]);
});

test('a call goes through each step in this order, and invalid arguments are stopped before they are sent (004-03)', async () => {
  const steps: string[] = [];
  const note =
    (step: string) =>
    (value: unknown): void =>
      void steps.push(`${step} ${JSON.stringify(value)}`);
  const rates = await startApi((request, response) => {
    note('the API answers')(request.url);
    send(response, { rate: 2 });
  });
  const convert = defineTool(
    {
      name: 'convert',
      description: 'Converts euros.',
      input: z.object({ euros: z.number().min(1) }).superRefine(note('the server checks the input')),
      output: z.object({ dollars: z.number() }).superRefine(note('the server checks the output')),
    },
    async ({ euros }) => {
      const { rate } = (await (await fetch(`${rates}/rate`)).json()) as { rate: number };
      return { dollars: euros * rate };
    },
  );
  const url = await serve([convert]);
  const methods: string[] = [];
  const agent = await agentOf(
    { bank: serverOf({ url }) },
    {
      mode: 'autonomous',
      connection: () => ({
        onMessage: (from, text) => {
          const { method, params } = JSON.parse(text) as {
            method?: string;
            params?: { arguments?: unknown };
          };
          if (from !== 'client' || !method?.startsWith('tools/')) return;
          // The list is loaded again whenever the client thinks that it may have changed.
          const isAgain = method === 'tools/list' && methods.includes(method);
          methods.push(method);
          if (isAgain) return;
          note(`the client sends ${method}`)(params?.arguments ?? null);
        },
      }),
    },
  );
  const model = scripted([
    ({ tools }) => {
      note('the model chooses')(tools.map(({ name }) => name).filter((name) => name === 'convert'));
      return { toolCalls: [{ name: 'convert', arguments: { euros: 'many' } }] };
    },
    (request) => {
      note('the client refuses')(/euros: ([\w ]+)/.exec(lastResult(request))![1]);
      return { toolCalls: [{ name: 'convert', arguments: { euros: 21 } }] };
    },
    (request) => {
      note('the model is told')(/\d+/.exec(lastResult(request))![0]);
      return 'They are 42 dollars.';
    },
  ]);
  const { text } = await runAgent(agent, { model, prompt: 'How many dollars are 21 euros?' });

  expect(text).toBe('They are 42 dollars.');
  expect(steps).toEqual([
    'the client sends tools/list null',
    'the model chooses ["convert"]',
    'the client refuses "must be of type number"',
    'the client sends tools/call {"euros":21}',
    'the server checks the input {"euros":21}',
    'the API answers "/rate"',
    'the server checks the output {"dollars":42}',
    'the model is told "42"',
  ]);
  expect(methods.filter((method) => method === 'tools/call')).toHaveLength(1);
});
