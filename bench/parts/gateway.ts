import { fileURLToPath } from 'node:url';
import { type Deployment, makeDeployment } from '../deployment.ts';
import { type Bench, cpuRatio, type Figures, measure } from '../measure.ts';
import { median } from '../median.ts';
import { type Latencies, runPaced } from '../paced-load.ts';
import { stopProcess } from '../process.ts';
import { progress } from '../progress.ts';
import { type Proxy, proxySpecs, startProxy } from '../proxies.ts';
import { figure, type Goal, type PartResult } from '../report.ts';
import { type BenchRequest, type BenchTool, callRequest, withKeys } from '../requests.ts';
import { type HttpTarget, type ServedSpec, type TargetSpec, withTargets } from '../target-process.ts';
import { verifyCall } from '../verify.ts';

/** Shows what a call costs that a gateway passes on, beside one it runs itself, one without it, and other proxies. */
export async function gatewayPart(bench: Bench): Promise<PartResult> {
  const local = await makeDeployment({ tools: WANTED });
  const lines = await withTargets([UPSTREAM, served(LOCAL, local)], async ([upstream, governed]) => {
    if (!upstream || !governed) throw new Error('Not every target was started.');
    const overHttp = await makeDeployment({ servers: { far: { url: upstream.url, trust: 'trusted' } } });
    const overStdio = await makeDeployment({ servers: { near: { ...STDIO, trust: 'trusted' } } });
    return withTargets([served(HTTP, overHttp), served(PIPE, overStdio)], async (gateways) => {
      const guarded = [
        { target: governed, keys: local.keys },
        ...gateways.map((target, index) => ({ target, keys: [overHttp, overStdio][index]!.keys })),
      ];
      return measureAll({ upstream, guarded }, bench);
    });
  });
  return {
    title: '13. The gateway',
    about: ABOUT,
    table: {
      columns: [
        'Target',
        'tool',
        'at once',
        'CPU µs',
        'requests/s',
        'p50 ms',
        'p99 ms',
        'p50 at half load',
        'p99 at half load',
      ],
      textColumns: 2,
      rows: lines.map(row),
    },
    goals: goalsOf(lines),
  };
}

const ABOUT =
  'One `tools/call` on 2026-07-28. CPU is that of the named process alone: not of the server behind it. The gateway is `toolcrib serve` with every ' +
  'stage on, its store in SQLite, and one other server: our own without a stage, over HTTP or as a program. *A governed local call* is the same ' +
  'gateway with the tool in its own process. Half load is half of what the gateway answers at most over HTTP. The proxies from npm check ' +
  'nothing and record nothing; they stand in front of the same program, and are called one call after the other on 2025-11-25, with a session.';

const WANTED = { tools: 10, bulk: true, readOnly: true };
const UPSTREAM: TargetSpec = { name: 'direct', file: 'toolcrib', options: WANTED };
const LOCAL = 'a governed local call';
const HTTP = 'through the gateway, HTTP';
const PIPE = 'through the gateway, stdio';
const STDIO = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../targets/toolcrib-stdio.js', import.meta.url)), JSON.stringify(WANTED)],
};
const tools: readonly BenchTool[] = ['echo', 'bulk_text', 'bulk_object'];

function served(name: string, { config }: Deployment): ServedSpec {
  return { name, config };
}

interface Contenders {
  readonly upstream: HttpTarget;
  readonly guarded: readonly { readonly target: HttpTarget; readonly keys: readonly string[] }[];
}

interface Line {
  readonly target: HttpTarget;
  readonly tool: BenchTool;
  readonly request: BenchRequest;
}

interface Measured extends Line {
  readonly connections: number;
  readonly figures: Figures;
  readonly paced?: Latencies | undefined;
}

async function measureAll({ upstream, guarded }: Contenders, bench: Bench): Promise<Measured[]> {
  const proxies: Proxy[] = [];
  try {
    for (const spec of proxySpecs) {
      const proxy = await startProxy(spec, [STDIO.command, ...STDIO.args]);
      if (proxy) proxies.push(proxy);
    }
    const lines = tools.flatMap((tool): Line[] => {
      const request = callRequest(tool, '2026-07-28');
      return [
        { target: upstream, tool, request },
        ...guarded.map(({ target, keys }) => ({ target, tool, request: withKeys(request, keys) })),
      ];
    });
    const alone: Line[] = [
      ...lines.filter(({ tool, target }) => tool === 'echo' && target !== upstream),
      ...proxies.map(({ target, request }) => ({ target, tool: 'echo' as const, request })),
    ];
    for (const { target, tool, request } of lines) await verifyCall(target, tool, request);
    const many = await withPace(await measureLines(lines, bench), bench);
    // One after the other: requests of one session with the same id must not be under way together.
    const settings = { ...bench.settings, connections: 1 };
    return [...many, ...(await measureLines(alone, { ...bench, settings }))];
  } finally {
    await Promise.all(proxies.map(({ target }) => stopProcess(target.child)));
  }
}

async function measureLines(lines: readonly Line[], bench: Bench): Promise<Measured[]> {
  const figures = await measure(
    lines.map(({ target, tool, request }) => ({ name: `${target.name}, ${tool}`, target, request })),
    bench,
  );
  const { connections } = bench.settings;
  return lines.map((line, index) => ({ ...line, connections, figures: figures[index]! }));
}

async function withPace(lines: readonly Measured[], { settings }: Bench): Promise<Measured[]> {
  const { connections, rounds, roundSeconds, leadInSeconds } = settings;
  const names = new Set([UPSTREAM.name, LOCAL, HTTP, PIPE]);
  const paced = lines.filter(({ target, tool }) => tool === 'echo' && names.has(target.name));
  const most = paced.find(({ target }) => target.name === HTTP)?.figures.perSecond ?? 0;
  const seen = new Map<Measured, Latencies[]>(paced.map((line) => [line, []]));
  for (let round = 0; round < rounds; round++) {
    for (const line of round % 2 === 0 ? paced : paced.toReversed()) {
      const { target, request } = line;
      const load = { url: target.url, request, connections, perSecond: Math.round(most / 2) };
      await runPaced({ ...load, seconds: leadInSeconds });
      const latencies = await runPaced({ ...load, seconds: roundSeconds });
      progress(`round ${round + 1}/${rounds} ${target.name} at half load: ${latencies.p50Ms.toFixed(3)} ms`);
      seen.get(line)!.push(latencies);
    }
  }
  return lines.map((line) => {
    const own = seen.get(line);
    if (!own) return line;
    const of = (key: keyof Latencies): number => median(own.map((latencies) => latencies[key]));
    return { ...line, paced: { requests: of('requests'), p50Ms: of('p50Ms'), p99Ms: of('p99Ms') } };
  });
}

function row({ target, tool, connections, figures, paced }: Measured): string[] {
  const { cpuMicros, perSecond, p50Ms, p99Ms } = figures;
  const times = paced ? [figure(paced.p50Ms), figure(paced.p99Ms)] : ['', ''];
  return [
    target.name,
    tool,
    String(connections),
    ...[cpuMicros, perSecond, p50Ms, p99Ms].map(figure),
    ...times,
  ];
}

function goalsOf(lines: readonly Measured[]): Goal[] {
  const find = (name: string, tool: BenchTool): Measured => {
    const line = lines.find((each) => each.target.name === name && each.tool === tool);
    if (!line) throw new Error(`Not measured: ${name}.`);
    return line;
  };
  const direct = find(UPSTREAM.name, 'echo');
  const times = [HTTP, PIPE].flatMap((name): Goal[] => {
    const { paced } = find(name, 'echo');
    const added = (paced?.p50Ms ?? Number.NaN) - (direct.paced?.p50Ms ?? Number.NaN);
    return [
      { what: `${name}: p50 it adds at half load`, measured: added, bound: 'at most', goal: 0.5, unit: 'ms' },
      {
        what: `${name}: p99 at half load`,
        measured: paced?.p99Ms ?? Number.NaN,
        bound: 'at most',
        goal: 5,
        unit: 'ms',
      },
    ];
  });
  const costs = tools.flatMap((tool) =>
    [HTTP, PIPE].map((name): Goal => {
      const [passed, local] = [find(name, tool).figures, find(LOCAL, tool).figures];
      return {
        what: `${name}, ${tool}: CPU ÷ ${LOCAL}`,
        measured: cpuRatio([passed], [local]),
        bound: 'at most',
        goal: 2.2,
        unit: '×',
      };
    }),
  );
  return [...times, ...costs];
}
