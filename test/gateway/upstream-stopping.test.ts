import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import type { Answer } from '../behaviour/peer.ts';
import { serve as serveTools } from '../client/peers.ts';
import { readAllRows, readRows } from '../gateway.ts';
import { serve, type Served } from '../served.ts';
import { within } from '../within.ts';
import { childrenOf, isAlive } from './process-counts.ts';
import { scripted } from './upstream-programs.ts';

/** The built gateway with a call under way to a program and one to a server over HTTP. */
interface Busy extends Served {
  /** What the calls end with. */
  readonly ends: Promise<readonly (Answer | undefined)[]>;
  /** The program, and what else the gateway has started. */
  readonly processes: readonly number[];
  /** Lets both servers finish. */
  finish(): void;
  /** Settles when the server over HTTP is told to stop. */
  readonly told: Promise<void>;
}

async function startBusy(drainSeconds: number): Promise<Busy> {
  let finishWeb = (): void => {};
  const finished = new Promise<void>((resolve) => (finishWeb = resolve));
  let noteTold = (): void => {};
  const told = new Promise<void>((resolve) => (noteTold = resolve));
  const work = defineTool({ name: 'work', description: 'Works.' }, async (_args, { progress, signal }) => {
    signal.addEventListener('abort', noteTold, { once: true });
    progress(1);
    await finished;
    return 'finished';
  });
  const shared = { prefix: 'always' as const };
  const served = await serve({
    config: {
      server: { listen: '127.0.0.1:0', drainSeconds },
      mcpServers: {
        lines: scripted('finishing', shared),
        web: { url: await serveTools([work], { log: () => {} }), ...shared },
      },
    },
  });
  served.child.process.stdout.resume();
  const peer = await served.connect('ada');
  const program = Number((await peer.call('lines__pid')).content[0]!.text);
  const processes = childrenOf(served.child.process.pid!).alive;
  expect(processes).toContain(program);
  const file = join(served.folder, 'may-end');
  let begun = 0;
  const ends = ['lines__work', 'web__work'].map((name, progressToken) => {
    const params = { name, arguments: name === 'lines__work' ? { file } : {}, _meta: { progressToken } };
    return peer.request('tools/call', params, { onNotification: () => begun++ });
  });
  await expect.poll(() => begun, { timeout: 10_000 }).toBe(2);
  const finish = (): void => {
    writeFileSync(file, '');
    finishWeb();
  };
  return { ...served, ends: Promise.all(ends), processes, finish, told };
}

async function expectEnd({ child, processes }: Busy): Promise<void> {
  expect(await within(20_000, 'the gateway to end', child.exit)).toEqual({ code: 0, signal: null });
  await expect.poll(() => processes.filter(isAlive), { timeout: 5_000 }).toEqual([]);
}

const outcomesOf = ({ folder }: Busy): unknown[] =>
  readRows(folder)
    .filter(({ tool, outcome }) => String(tool).endsWith('.work') && outcome !== undefined)
    .map(({ tool, outcome }) => `${String(tool)} ${String(outcome)}`)
    .toSorted();

test('R16 after SIGTERM calls under way to other servers finish, their programs end, and the gateway exits with 0', async () => {
  const busy = await startBusy(30);
  busy.child.process.kill('SIGTERM');
  const knock = (): Promise<unknown> => fetch(busy.url).catch(() => 'refused');
  await expect.poll(knock, { timeout: 10_000 }).toBe('refused');
  busy.finish();
  expect(await within(10_000, 'the calls to end', busy.ends)).toMatchObject([
    { result: { content: [{ text: 'finished' }] } },
    { result: { content: [{ text: 'finished' }] } },
  ]);
  await expectEnd(busy);
  expect(outcomesOf(busy)).toEqual(['lines.work done', 'web.work done']);
  expect(readAllRows(busy.folder).at(-1)).toMatchObject({ kind: 'stop' });
});

test('R16 calls to other servers that outlast the drain time end as cancelled, also at these servers, and leave no process', async () => {
  const busy = await startBusy(1);
  busy.child.process.kill('SIGTERM');
  expect(await within(10_000, 'the calls to end', busy.ends)).toMatchObject([
    { error: { code: -32603 } },
    { error: { code: -32603 } },
  ]);
  await within(10_000, 'the server over HTTP to be told', busy.told);
  await expectEnd(busy);
  expect(outcomesOf(busy)).toEqual(['lines.work cancelled', 'web.work cancelled']);
  expect(readAllRows(busy.folder).at(-1)).toMatchObject({ kind: 'stop' });
});
