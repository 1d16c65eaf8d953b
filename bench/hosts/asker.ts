import { createInterface } from 'node:readline';
import { live } from '../targets/target.ts';
import type { Ask, HostName } from './question.ts';

/** How many questions a process is told to answer. */
export interface Questions {
  readonly questions: number;
}

/** What the answers took. */
export interface Answered {
  readonly cpuMicros: number;
  /** What the model is sent for one question, as JSON. */
  readonly bytes: number;
}

const ask = await askerOf(process.argv[2] as HostName);
process.stdout.write('ready\n');
createInterface({ input: process.stdin })
  .on('line', (line) => void run(JSON.parse(line) as Questions))
  .on('close', () => process.exit());
live();

// Each process loads the host it measures and no other.
async function askerOf(host: HostName): Promise<Ask> {
  return host === 'own' ? (await import('./own.ts')).openOwn() : (await import('./ai-sdk.ts')).openAiSdk();
}

async function run({ questions }: Questions): Promise<void> {
  let bytes = 0;
  const before = process.cpuUsage();
  const asked = [];
  for (let left = questions; left > 0; left--) asked.push(await ask());
  const { user, system } = process.cpuUsage(before);
  // Counted afterwards: writing the requests out is the adapter's work, not the host's.
  for (const sent of asked.slice(0, 1)) bytes = Buffer.byteLength(JSON.stringify(sent));
  const answered: Answered = { cpuMicros: user + system, bytes };
  process.stdout.write(`${JSON.stringify(answered)}\n`);
}
