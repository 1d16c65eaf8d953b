import { describe, expect, onTestFinished, test } from 'vitest';
import {
  connect,
  createServer,
  RemoteError,
  withStages,
  type Client,
  type ClientOptions,
  type QuestionHandlers,
  type Server,
  type ToolSource,
} from '../../src/index.ts';
import { listen } from '../../src/node.ts';
import { sanitize } from '../../src/stages.ts';
import { revisions, type RevisionUnderTest } from '../behaviour/matrix.ts';
import { within } from '../within.ts';
import { createFarSource, LARGE, LONG } from './far-source.ts';
import { connectInProcess } from './line-client.ts';

/** How a leg is travelled. */
export type Way = 'HTTP' | 'in process';

/** A client of one revision, a server of another, ours between them, and how each leg is travelled. */
export interface BridgeCell {
  readonly near: RevisionUnderTest;
  readonly far: RevisionUnderTest;
  readonly nearWay: Way;
  readonly farWay: Way;
  readonly tasks: boolean;
}

interface Bridged {
  readonly near: Client;
  readonly far: Client;
  /** What people were asked. */
  readonly asked: string[];
}

/** Every cell of these ways. */
export function cellsOf(ways: readonly (readonly [near: Way, far: Way])[]): BridgeCell[] {
  return revisions.flatMap((near) =>
    revisions.flatMap((far) =>
      ways.flatMap(([nearWay, farWay]) =>
        (near.era === 'modern' ? [false, true] : [false]).map((tasks) => ({
          near,
          far,
          nearWay,
          farWay,
          tasks,
        })),
      ),
    ),
  );
}

/** States what a client sees through the bridge, in every cell. */
export function describeBridge(cells: readonly BridgeCell[]): void {
  for (const cell of cells) {
    const { near, far, nearWay, farWay, tasks } = cell;
    const client = `${near.version}${tasks ? ' with tasks' : ''} over ${nearWay}`;
    describe(`a client of ${client}, a server of ${far.version} over ${farWay}:`, () => stateOf(cell));
  }
}

function stateOf(cell: BridgeCell): void {
  const { near, far, tasks } = cell;

  test('results arrive complete', async () => {
    const { near: client } = await open(cell);
    expect(await client.callTool('plain', { a: 1 }).text()).toBe('said {"a":1}');
    expect(await client.callTool('large').text()).toBe(LARGE);
    const [image] = await client.callTool('image').images();
    expect(image).toMatchObject({ mimeType: 'image/png' });
    const { raw } = await client.callTool('unknown_fields');
    expect(raw).toMatchObject({
      content: [{ type: 'text', text: 'x', later: { a: 1 } }],
      later: [2],
      _meta: { 'acme.com/b': 3 },
    });
    const { json } = await client.callTool('long_integers');
    const isShown = near.structured !== 'none' && far.structured !== 'none';
    expect(json.includes(`"structuredContent":{"id":${LONG}}`)).toBe(isShown);
  });

  test('an error with an unusual code arrives complete', async () => {
    const { near: client } = await open(cell);
    const failure: unknown = await client.callTool('odd_error').catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RemoteError);
    expect((failure as RemoteError).remote).toEqual({
      code: 4711,
      message: 'Out of ink.',
      data: ['cyan'],
      hint: 'refill',
    });
  });

  test('progress and log messages arrive', async () => {
    const { near: client } = await open(cell, { logLevel: 'debug' });
    const steps: unknown[] = [];
    await client.callTool('progress', {}, { onProgress: (step) => steps.push(step) });
    const isTold = near.messages && far.messages;
    expect(steps).toEqual([
      { progress: 1, total: 3, ...(isTold && { message: 'begun' }) },
      { progress: 2, total: 3 },
    ]);
    const logged: unknown[] = [];
    client.on('log', (entry) => logged.push(entry));
    await client.callTool('log');
    expect(logged).toEqual([{ level: 'info', data: { at: 'work' }, logger: 'far' }]);
  });

  test('questions during a call are asked and answered, or refused with a message', async () => {
    const { near: client, asked } = await open(cell);
    const sampled = await client.callTool('sampling');
    expect([sampled.isError, sampled.text()]).toEqual([false, 'parrot']);
    const canAsk = near.asks !== 'not' && far.asks !== 'not';
    const one = await client.callTool('question');
    const two = await client.callTool('two_questions');
    expect([one.isError, two.isError]).toEqual([!canAsk, !canAsk]);
    if (!canAsk) {
      expect(two.text()).toMatch(/ask|elicitation|answer a question/);
      return;
    }
    expect(one.data()).toEqual({ action: 'accept', content: { colour: 'red' } });
    expect(two.text()).toBe('accept,accept');
    expect(asked).toEqual(['far: Which?', 'far: First?', 'far: Second?']);
  });

  test('a cancelled call is stopped at the upstream', async () => {
    const { near: client } = await open(cell);
    const caller = new AbortController();
    const call = client.callTool(
      'cancel',
      {},
      { signal: caller.signal, onProgress: () => caller.abort(new Error('enough')) },
    );
    await expect(within(5_000, 'the call to end', call)).rejects.toMatchObject({ code: 'cancelled' });
    await untilStopped(client);
  });

  test('a task is followed to its end', async () => {
    const { near: client } = await open(cell);
    expect(await client.callTool('task').text()).toBe('finished');
    if (!tasks || far.era === 'legacy') return;
    const handle = await client.startTask('task');
    expect((await handle.result()).text()).toBe('finished');
  });

  test('a change of the list is announced', async () => {
    const { near: client } = await open(cell);
    const before = (await client.listTools()).length;
    const changed = new Promise<number>((resolve) => {
      client.on('toolsChanged', (tools) => {
        if (tools && tools.length > before) resolve(tools.length);
      });
    });
    // The stream for changes may not be open yet, so changes are made until one is announced.
    const timer = setInterval(() => void client.callTool('list_change').catch(() => {}), 30);
    onTestFinished(() => clearInterval(timer));
    expect(await within(5_000, 'the change', changed)).toBeGreaterThan(before);
    clearInterval(timer);
  });
}

async function untilStopped(client: Client): Promise<void> {
  for (let tries = 0; tries < 100; tries++)
    if ((await client.callTool('was_cancelled').text()) === 'true') return;
  throw new Error('The far server was not told.');
}

async function open(cell: BridgeCell, options: ClientOptions = {}): Promise<Bridged> {
  const asked: string[] = [];
  const handlers: QuestionHandlers = {
    form: ({ message }) => {
      asked.push(message);
      return { action: 'accept', content: { colour: 'red' } };
    },
    sample: () => ({ role: 'assistant', model: 'parrot', content: { type: 'text', text: '!' } }),
  };
  const farServer = createServer({ source: createFarSource(), log: () => {} });
  const far = await reach(farServer, cell.farWay, {
    protocol: cell.far.version,
    capabilities: { elicitation: { form: {} }, sampling: {} },
    askedBy: 'far',
  });
  const source: ToolSource = withStages(far, [sanitize()]);
  const server = createServer({ source, log: () => {} });
  const near = await reach(server, cell.nearWay, {
    protocol: cell.near.version,
    handlers,
    tasks: cell.tasks,
    ...options,
  });
  return { near, far, asked };
}

async function reach(server: Server, way: Way, options: ClientOptions): Promise<Client> {
  if (way === 'in process') return connectInProcess(server, options);
  const listening = await listen(server, { port: 0 });
  onTestFinished(() => listening.close());
  const client = await connect(listening.url, options);
  onTestFinished(() => client.close());
  return client;
}
