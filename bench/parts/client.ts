import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Batch, CallerOptions, ClientName, Spent } from '../clients/caller.ts';
import type { Bench } from '../measure.ts';
import { median } from '../median.ts';
import { startProcess, stopProcess } from '../process.ts';
import { progress } from '../progress.ts';
import { count, figure, type Goal, type PartResult } from '../report.ts';
import type { Settings } from '../settings.ts';
import { startGoals } from './client-start.ts';
import { withTargets } from '../target-process.ts';

/** Compares our client with the official one and with bare code, all against the same bare server. */
export async function clientPart({ settings }: Bench): Promise<PartResult> {
  const { rows, starts } = await withTargets(
    [{ name: 'a bare server', file: 'peer-http', options: { tools: 1 } }],
    async ([target]) => {
      if (!target) throw new Error('The bare server was not started.');
      const goals = await startGoals(target.url);
      const overHttp = await measureOver('HTTP', target.url, settings);
      return { starts: goals, rows: [...overHttp, ...(await measureOver('stdio', undefined, settings))] };
    },
  );
  return {
    title: '11. The client',
    about:
      `One call of \`echo\`, ${count(settings.clientCalls)} a round (a tenth for the official client), from clients in processes of their own; CPU is that of the client's process. ` +
      'Bare is undici `dispatch` over kept connections, or a loop over lines: it writes the same request and parses the answer. "auto" finds out what the server speaks, "legacy" shakes hands. ' +
      'Beside a goal stands what the official client takes in times of bare: over stdio that is less than the goal asks for, so even bare code misses it.',
    table: {
      columns: ['Client', 'transport', 'at once', 'CPU µs', '÷ bare', 'calls/s'],
      textColumns: 2,
      rows: rows.map((row) => [
        names[row.client],
        row.transport,
        count(row.window),
        figure(median(row.cpu)),
        figure(ratio(row, find(rows, { ...row, client: 'bare' }))),
        figure(median(row.rate)),
      ]),
    },
    goals: [...goalsOf(rows), ...starts],
  };
}

interface Row {
  readonly client: ClientName;
  readonly transport: 'HTTP' | 'stdio';
  readonly window: number;
  readonly cpu: number[];
  readonly rate: number[];
}

const clients: readonly ClientName[] = ['bare', 'own', 'auto', 'legacy'];
const windows = [1, 64];
const names: Readonly<Record<ClientName, string>> = {
  bare: 'bare',
  own: 'toolcrib',
  auto: 'official v2, auto',
  legacy: 'official v2, legacy',
};

async function measureOver(
  transport: Row['transport'],
  url: string | undefined,
  { clientCalls, rounds }: Settings,
): Promise<Row[]> {
  const started = await Promise.all(clients.map((client) => startCaller({ client, ...(url && { url }) })));
  const rows = windows.flatMap((window) =>
    clients.map((client): Row => ({ client, transport, window, cpu: [], rate: [] })),
  );
  try {
    // The first round warms up.
    for (let round = 0; round <= rounds; round++)
      for (const row of round % 2 === 0 ? rows : rows.toReversed()) {
        const { client, window } = row;
        const isOfficial = client === 'auto' || client === 'legacy';
        const batch = { calls: isOfficial ? clientCalls / 10 : clientCalls, window };
        const spent = await runBatch(started[clients.indexOf(client)]!, names[client], batch);
        const micros = spent.cpuMicros / batch.calls;
        progress(`round ${round}/${rounds} ${transport} ${window} ${names[client]}: ${micros.toFixed(1)} µs`);
        if (round === 0) continue;
        row.cpu.push(micros);
        row.rate.push(batch.calls / spent.seconds);
      }
    return rows;
  } finally {
    await Promise.all(started.map(stopProcess));
  }
}

async function startCaller(options: CallerOptions): Promise<ChildProcess> {
  const path = fileURLToPath(new URL('../clients/caller.js', import.meta.url));
  const child = startProcess(process.execPath, [path, JSON.stringify(options)], ['pipe', 'pipe', 'inherit']);
  await nextLine(child, names[options.client]);
  return child;
}

async function runBatch(child: ChildProcess, name: string, batch: Batch): Promise<Spent> {
  const answer = nextLine(child, name);
  child.stdin?.write(`${JSON.stringify(batch)}\n`);
  return JSON.parse(await answer) as Spent;
}

const LONGEST_BATCH_MS = 120_000;

function nextLine(child: ChildProcess, name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const end = (act: () => void): void => {
      clearTimeout(limit);
      child.off('exit', gone);
      child.stdout?.off('data', read);
      act();
    };
    const read = (chunk: Buffer): void => end(() => resolve(chunk.toString()));
    const gone = (): void => end(() => reject(new Error(`${name} ended early.`)));
    const limit = setTimeout(() => end(() => reject(new Error(`${name} took too long.`))), LONGEST_BATCH_MS);
    child.stdout?.on('data', read);
    child.once('exit', gone);
  });
}

function find(rows: readonly Row[], { client, transport, window }: Omit<Row, 'cpu' | 'rate'>): Row {
  const row = rows.find(
    (each) => each.client === client && each.transport === transport && each.window === window,
  );
  if (!row) throw new Error(`${client} was not measured over ${transport}.`);
  return row;
}

// Each round is compared with itself, since the machine's load varies.
function ratio(one: Row, other: Row): number {
  return median(one.cpu.map((micros, index) => micros / (other.cpu[index] ?? Number.NaN)));
}

function goalsOf(rows: readonly Row[]): Goal[] {
  return (['HTTP', 'stdio'] as const).flatMap((transport) =>
    windows.flatMap((window): Goal[] => {
      const [bare, own, auto, legacy] = clients.map((client) => find(rows, { client, transport, window }));
      if (!bare || !own || !auto || !legacy) throw new Error('Not every client was measured.');
      const faster = median(auto.cpu) < median(legacy.cpu) ? auto : legacy;
      const where = `${transport}, ${window} at once`;
      const share: Goal = {
        what: `${where}: ${names[faster.client]} ÷ toolcrib`,
        measured: ratio(faster, own),
        bound: 'at least',
        goal: 12,
        unit: '×',
        beside: `${figure(ratio(faster, bare))} × bare`,
      };
      return [
        {
          what: `${where}: toolcrib ÷ bare`,
          measured: ratio(own, bare),
          bound: 'at most',
          goal: 1.5,
          unit: '×',
        },
        share,
      ];
    }),
  );
}
