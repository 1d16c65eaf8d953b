import { onTestFinished } from 'vitest';
import { sendStream, startEndpoint, type ModelEndpoint } from '../host/model-endpoint.ts';
import { call, words } from '../host/run-setup.ts';

/** What a model of a test says: words, or the call of a tool. */
export type Said = string | { readonly tool: string; readonly args?: object };

/** What a model was asked, as far as tests look at it. */
export interface AskedModel {
  readonly tools: readonly string[];
  /** What tools returned so far, oldest first. */
  readonly results: readonly string[];
  readonly system: string;
  readonly question: string;
}

/** A model on this machine, and how an agent names it. */
export interface AgentModel {
  readonly endpoint: ModelEndpoint;
  readonly asked: AskedModel[];
  readonly model: { readonly name: string; readonly baseUrl: string; readonly keyVariable: string };
}

/** The key that agents of tests send; neither it nor its variable looks like one. */
export const MODEL_KEY = 'the-word-of-the-agents-0123456789';

/** Starts a model that answers as told; `undefined` leaves a request without an answer. */
export async function startModel(
  answer: (asked: AskedModel) => Said | undefined,
  name = 'tiny',
): Promise<AgentModel> {
  const asked: AskedModel[] = [];
  const endpoint = await startEndpoint((response, number) => {
    const request = readRequest(endpoint.seen[number]!.body);
    asked.push(request);
    const said = answer(request);
    if (said === undefined) return;
    sendStream(response, typeof said === 'string' ? words(said) : call(said.tool, said.args ?? {}));
  });
  onTestFinished(() => endpoint.close());
  const before = process.env['TOOLCRIB_TEST_MODEL'];
  process.env['TOOLCRIB_TEST_MODEL'] = MODEL_KEY;
  onTestFinished(() => {
    if (before === undefined) delete process.env['TOOLCRIB_TEST_MODEL'];
    else process.env['TOOLCRIB_TEST_MODEL'] = before;
  });
  return {
    endpoint,
    asked,
    model: { name, baseUrl: `${endpoint.url}/v1`, keyVariable: 'TOOLCRIB_TEST_MODEL' },
  };
}

interface WireMessage {
  readonly role: string;
  readonly content?: string | readonly { readonly text?: string }[];
}

function readRequest(body: Readonly<Record<string, unknown>>): AskedModel {
  const messages = body['messages'] as readonly WireMessage[];
  const tools = (body['tools'] ?? []) as readonly { readonly function: { readonly name: string } }[];
  const of = (role: string): string[] =>
    messages.filter((message) => message.role === role).map(({ content }) => textOf(content));
  return {
    tools: tools.map((tool) => tool.function.name).filter((name) => name !== 'read_more'),
    results: of('tool'),
    system: of('system').join('\n'),
    question: of('user')[0] ?? '',
  };
}

function textOf(content: WireMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ text }) => text ?? '').join('\n');
}
