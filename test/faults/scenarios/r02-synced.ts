import { readFileSync } from 'node:fs';
import { Client } from '../client.ts';
import { Crib } from '../crib.ts';
import { nonceOf } from '../load.ts';
import { summarise, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';
import { tracingObstacle } from '../tracer.ts';

/** The row of a response has been synced to the disk before the response is sent. */
export const synced: Scenario = {
  id: 'R2',
  title: 'every response is sent after a completed sync of its audit row',
  run: (options) => trace(options, options.counts === 'full' ? 10_000 : 400),
  control: (options) => trace(options, 50, { withoutSyncs: true }),
};

// So few that a group of rows fits on one page of the database, where its text is whole.
const LANES = 6;

async function trace({ report }: RunOptions, calls: number, { withoutSyncs = false } = {}): Promise<Outcome> {
  const notRun = tracingObstacle();
  if (notRun !== undefined) return { counts: '', failures: [], notRun };
  const crib = new Crib();
  try {
    const log = crib.path('trace');
    const traced = 'trace=fdatasync,fsync,pwrite64,write,writev,sendto,sendmsg';
    const serving = await crib.start(['strace', '-f', '-y', '-s', '1000000', '-o', log, '-e', traced]);
    report(`ready under the tracer after ${Math.round(serving.readyMs)} ms`);
    const nonces = Array.from({ length: calls }, (_, index) => `nonce-${index}-`);
    await callAll(serving.port, nonces);
    serving.signal('SIGTERM');
    await serving.ended();
    const lines = readFileSync(log, 'utf8').split('\n');
    report(`${calls} calls, ${lines.length} system calls`);
    const kept = withoutSyncs ? lines.filter((line) => !/f(?:data)?sync\(/.test(line)) : lines;
    const { failures, syncs } = unsynced(kept, await tokensOf(crib, nonces));
    return { counts: `${calls} calls, ${syncs} syncs of the log`, failures };
  } finally {
    await crib.close();
  }
}

async function callAll(port: number, nonces: readonly string[]): Promise<void> {
  const client = new Client({ port, connections: LANES });
  const waiting = [...nonces];
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (let nonce = waiting.shift(); nonce !== undefined; nonce = waiting.shift()) {
        // Three times in a row: where a row is spread over two pages, at most one of them is torn.
        const { isDone } = await client.call(nonce.endsWith('0-') ? 'effect' : 'echo', {
          nonce: nonce.repeat(3),
        });
        if (!isDone) throw new Error('A call failed under the tracer.');
      }
    }),
  );
  client.close();
}

// Shows that the last row of a call is written: its nonce, or with effects the id, since that row has no nonce.
async function tokensOf(crib: Crib, nonces: readonly string[]): Promise<Map<string, string>> {
  const tokens = new Map(nonces.map((nonce) => [nonce, nonce]));
  for (const row of await crib.rows()) {
    const nonce = /nonce-\d+-/.exec(nonceOf(row) ?? '')?.[0];
    if (row.kind === 'intent' && nonce !== undefined) tokens.set(nonce, row.call!);
  }
  return tokens;
}

/*
 * The trace has every write with its whole text. A row is in the write-ahead log once its token is in a completed
 * write to that file, and on disk once a later sync of that file has returned. An answer is a write to a socket that
 * has the nonce: the token must be on disk by then.
 */
function unsynced(
  lines: readonly string[],
  tokens: ReadonlyMap<string, string>,
): { failures: string[]; syncs: number } {
  const inLog = new Set<string>();
  const onDisk = new Set<string>();
  const early: string[] = [];
  const answered = new Set<string>();
  let syncs = 0;
  for (const { call, file, text, isDone } of completed(lines)) {
    if (call.endsWith('sync')) {
      if (!isDone || !file.endsWith('-wal')) continue;
      syncs++;
      for (const token of inLog) onDisk.add(token);
      inLog.clear();
    } else if (file.endsWith('-wal')) {
      if (isDone) for (const token of tokensIn(text)) inLog.add(token);
    } else if (isSocket(file)) {
      for (const nonce of noncesIn(text)) {
        if (!onDisk.has(tokens.get(nonce)!)) early.push(nonce);
        answered.add(nonce);
      }
    }
  }
  const unseen = [...tokens.keys()].filter((nonce) => !answered.has(nonce));
  return {
    syncs,
    failures: [
      ...summarise('answers before the sync of their row', early),
      ...summarise('answers the trace does not show', unseen),
    ],
  };
}

function noncesIn(text: string): Set<string> {
  return new Set(Array.from(text.matchAll(/nonce-\d+-/g), ([nonce]) => nonce));
}

function tokensIn(text: string): Set<string> {
  const ended = text.matchAll(/\\"kind\\":\\"outcome\\",\\"call\\":\\"([^\\]+)\\"/g);
  return new Set([...noncesIn(text), ...Array.from(ended, ([, call]) => call!)]);
}

interface SystemCall {
  readonly call: string;
  readonly file: string;
  readonly text: string;
  readonly isDone: boolean;
}

// A system call that another thread interrupts has two lines in the log: it counts when it is completed.
// A write to a socket counts when it is begun, since its bytes may leave from then on.
function* completed(lines: readonly string[]): Generator<SystemCall> {
  const begun = new Map<string, SystemCall>();
  for (const line of lines) {
    const resumed = /^(\d+) +<\.\.\. (\w+) resumed>.* = (-?\d+)/.exec(line);
    if (resumed) {
      const call = begun.get(resumed[1]!);
      begun.delete(resumed[1]!);
      if (call && !isSocket(call.file)) yield { ...call, isDone: !resumed[3]!.startsWith('-') };
      continue;
    }
    const match = /^(\d+) +(\w+)\(\d+<([^>]*)>(.*)$/.exec(line);
    if (!match) continue;
    const [, thread, name, file, text] = match as unknown as [string, string, string, string, string];
    const call = { call: name, file, text, isDone: !/ = -1 /.test(text.slice(-60)) };
    const isUnfinished = text.endsWith('<unfinished ...>');
    if (isUnfinished) begun.set(thread, call);
    if (!isUnfinished || isSocket(file)) yield call;
  }
}

function isSocket(file: string): boolean {
  return /^(?:socket|TCP)/.test(file);
}
