import { createInterface } from 'node:readline';
import { echoText } from '../requests.ts';
import { live } from '../targets/target.ts';
import { connectBare } from './bare.ts';
import type { Caller, Connect, PeerAddress } from './peer.ts';

/** Which client a process runs, and against what. */
export interface CallerOptions extends PeerAddress {
  readonly client: ClientName;
}

/** The clients that are compared. */
export type ClientName = 'bare' | 'own' | 'auto' | 'legacy';

/** How many calls a process is told to make, and how many of them at once. */
export interface Batch {
  readonly calls: number;
  readonly window: number;
}

/** What a batch took. */
export interface Spent {
  readonly cpuMicros: number;
  readonly seconds: number;
}

const { client, ...address } = JSON.parse(process.argv[2] ?? '') as CallerOptions;
const caller = await (await connectorOf(client))(address);
process.stdout.write('ready\n');
createInterface({ input: process.stdin })
  .on('line', (line) => void run(caller, JSON.parse(line) as Batch))
  .on('close', () => process.exit());
live();

// Each process loads the client it measures and no other.
async function connectorOf(name: ClientName): Promise<Connect> {
  if (name === 'bare') return connectBare;
  if (name === 'own') return (await import('./own.ts')).connectOwn;
  return (await import('./official.ts')).connectOfficial(name);
}

async function run(to: Caller, { calls, window }: Batch): Promise<void> {
  let left = calls;
  const before = process.cpuUsage();
  const start = performance.now();
  const work = async (): Promise<void> => {
    while (left-- > 0)
      if ((await to.call(echoText)) !== echoText)
        throw new Error(`${client} got another answer than it should.`);
  };
  await Promise.all(Array.from({ length: window }, work));
  const { user, system } = process.cpuUsage(before);
  const spent: Spent = { cpuMicros: user + system, seconds: (performance.now() - start) / 1e3 };
  process.stdout.write(`${JSON.stringify(spent)}\n`);
}
