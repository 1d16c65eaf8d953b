import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Answered } from '../hosts/asker.ts';
import type { HostName } from '../hosts/question.ts';
import type { Bench } from '../measure.ts';
import { median } from '../median.ts';
import { startProcess, stopProcess } from '../process.ts';
import { progress } from '../progress.ts';
import { count, figure, type PartResult } from '../report.ts';

const QUESTIONS = 200;
const LONGEST_ROUND_MS = 120_000;
const hosts: readonly HostName[] = ['own', 'ai'];
const names: Readonly<Record<HostName, string>> = { own: 'toolcrib', ai: 'AI SDK 6' };

/** Compares what a question costs the host that runs a model, beside the AI SDK. */
export async function hostPart({ settings }: Bench): Promise<PartResult> {
  const rows = await measureHosts(settings.rounds);
  const [own, ai] = hosts.map((host) => rows.get(host));
  if (!own || !ai) throw new Error('Not every host was measured.');
  return {
    title: '12. The host',
    about:
      'One question to an agent with 64 tools: a turn in which the model makes ten calls, and one in which it answers. The model follows a ' +
      'script and the tools are functions of the same process, so the CPU is the host’s own; ours checks arguments and results, asks its ' +
      'rules, cleans, bounds and times every call. Bytes are the instructions, messages and definitions that the model is handed, as JSON.',
    table: {
      columns: ['Host', 'CPU ms a question', 'kB to the model'],
      rows: hosts.map((host) => [
        names[host],
        figure(median(rows.get(host)!.map(({ cpuMicros }) => cpuMicros / QUESTIONS / 1e3))),
        figure(median(rows.get(host)!.map(({ bytes }) => bytes / 1e3))),
      ]),
    },
    goals: [
      {
        what: 'CPU of a question, toolcrib ÷ AI SDK',
        measured: median(own.map(({ cpuMicros }, round) => cpuMicros / ai[round]!.cpuMicros)),
        bound: 'at most',
        goal: 1,
        unit: '×',
        beside: `${count(QUESTIONS)} questions a round`,
      },
      {
        what: 'bytes to the model, toolcrib ÷ AI SDK',
        measured: median(own.map(({ bytes }, round) => bytes / ai[round]!.bytes)),
        bound: 'at most',
        goal: 1.2,
        unit: '×',
      },
    ],
  };
}

async function measureHosts(rounds: number): Promise<ReadonlyMap<HostName, readonly Answered[]>> {
  const started = await Promise.all(hosts.map(start));
  const found = new Map<HostName, Answered[]>(hosts.map((host) => [host, []]));
  try {
    // The first round warms up.
    for (let round = 0; round <= rounds; round++)
      for (const host of round % 2 === 0 ? hosts : hosts.toReversed()) {
        const answered = await ask(started[hosts.indexOf(host)]!);
        progress(
          `round ${round}/${rounds} ${names[host]}: ${(answered.cpuMicros / QUESTIONS).toFixed(0)} µs`,
        );
        if (round > 0) found.get(host)!.push(answered);
      }
    return found;
  } finally {
    await Promise.all(started.map(stopProcess));
  }
}

async function start(host: HostName): Promise<ChildProcess> {
  const path = fileURLToPath(new URL('../hosts/asker.js', import.meta.url));
  const child = startProcess(process.execPath, [path, host], ['pipe', 'pipe', 'inherit']);
  await nextLine(child);
  return child;
}

async function ask(child: ChildProcess): Promise<Answered> {
  const answer = nextLine(child);
  child.stdin!.write(`${JSON.stringify({ questions: QUESTIONS })}\n`);
  return JSON.parse(await answer) as Answered;
}

async function nextLine(child: ChildProcess): Promise<string> {
  const [chunk] = (await once(child.stdout!, 'data', { signal: AbortSignal.timeout(LONGEST_ROUND_MS) })) as [
    Buffer,
  ];
  return chunk.toString();
}
