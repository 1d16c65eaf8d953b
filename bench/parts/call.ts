import { bareLike, verifySameBytes } from '../answers.ts';
import { type Bench, cpuRatio, type Figures, measure } from '../measure.ts';
import { figure, type Goal, type PartResult } from '../report.ts';
import {
  acceptingJsonOnly,
  type BenchRequest,
  callRequest,
  type EchoTool,
  type Revision,
} from '../requests.ts';
import { type HttpTarget, type TargetSpec, withTargets } from '../target-process.ts';
import { verifyCall } from '../verify.ts';

/** Compares what one `tools/call` costs on every target. */
export async function callPart(bench: Bench): Promise<PartResult> {
  const lines = await withTargets(specs, async ([toolcrib, sdk, tmcp, lite]) => {
    if (!toolcrib || !sdk || !tmcp || !lite) throw new Error('Not every target was started.');
    return withTargets([await bareLike(toolcrib)], async ([bare]) => {
      if (!bare) throw new Error('The bare target was not started.');
      for (const tool of tools) await verifySameBytes(bare, toolcrib, tool);
      const all = { bare, toolcrib, sdk, tmcp, lite };
      return measureLines(
        tools.flatMap((tool) => linesOf(all, tool)),
        bench,
      );
    });
  });
  return {
    title: '1. tools/call',
    about,
    table: {
      columns: ['Target', 'revision', 'tool', 'CPU µs', 'requests/s', 'p50 ms', 'p99 ms'],
      textColumns: 3,
      rows: lines.map(row),
    },
    goals: tools.flatMap((tool) => goalsOf(lines, tool)),
  };
}

const about =
  'Ten tools registered; `echo` answers with text, `echo_object` with an object that has an output schema. CPU is that of the ' +
  'server process for one request. The bare handler parses the same request and writes the same bytes as toolcrib, at once; toolcrib ' +
  'sends the answers of one turn of the event loop together. The SDK ' +
  'runs as its documentation shows, a server made for each request by `createMcpHandler`; tmcp and mcp-lite run behind `@hono/node-server`. ' +
  'To a client that accepts JSON and event streams, as the specification asks, tmcp and mcp-lite answer with an event stream, the others ' +
  'with JSON; mcp-lite is also shown with a client that accepts JSON only. 2025-06-18 is the newest revision mcp-lite speaks.';

const tools: readonly EchoTool[] = ['echo', 'echo_object'];

const specs: readonly TargetSpec[] = [
  { name: 'toolcrib', file: 'toolcrib', options: { tools: 10 } },
  { name: 'official SDK v2', file: 'sdk', options: { tools: 10 } },
  { name: 'tmcp', file: 'tmcp', options: { tools: 10 } },
  { name: 'mcp-lite', file: 'mcp-lite', options: { tools: 10 } },
];

interface Line {
  readonly name: string;
  readonly target: HttpTarget;
  readonly revision: Revision;
  readonly tool: EchoTool;
  readonly request: BenchRequest;
}

interface MeasuredLine extends Line {
  readonly figures: Figures;
}

const OURS = 'toolcrib';
const OURS_BEFORE = 'toolcrib, earlier revision';
const LITE = 'mcp-lite';
const LITE_JSON = 'mcp-lite, JSON only accepted';

type Targets = Record<'bare' | 'toolcrib' | 'sdk' | 'tmcp' | 'lite', HttpTarget>;

function linesOf({ bare, toolcrib, sdk, tmcp, lite }: Targets, tool: EchoTool): Line[] {
  const modern = { revision: '2026-07-28', tool, request: callRequest(tool, '2026-07-28') } as const;
  const before = { revision: '2025-06-18', tool, request: callRequest(tool, '2025-06-18') } as const;
  return [
    { name: bare.name, target: bare, ...modern },
    { name: OURS, target: toolcrib, ...modern },
    { name: OURS_BEFORE, target: toolcrib, ...before },
    { name: LITE, target: lite, ...before },
    { name: LITE_JSON, target: lite, ...before, request: acceptingJsonOnly(before.request) },
    { name: tmcp.name, target: tmcp, ...modern },
    { name: sdk.name, target: sdk, ...modern },
  ];
}

async function measureLines(lines: readonly Line[], bench: Bench): Promise<MeasuredLine[]> {
  for (const { target, tool, request } of lines) await verifyCall(target, tool, request);
  const figures = await measure(
    lines.map(({ name, target, tool, request }) => ({ name: `${name}, ${tool}`, target, request })),
    bench,
  );
  return lines.flatMap((line, index) => {
    const own = figures[index];
    return own === undefined ? [] : [{ ...line, figures: own }];
  });
}

function row({ name, revision, tool, figures }: MeasuredLine): string[] {
  const { cpuMicros, perSecond, p50Ms, p99Ms } = figures;
  return [name, revision, tool, ...[cpuMicros, perSecond, p50Ms, p99Ms].map(figure)];
}

function goalsOf(lines: readonly MeasuredLine[], tool: EchoTool): Goal[] {
  const find = (name: string): Figures => {
    const line = lines.find((each) => each.name === name && each.tool === tool);
    if (line === undefined) throw new Error(`Not measured: ${name}.`);
    return line.figures;
  };
  const ours = find(OURS);
  const before = find(OURS_BEFORE);
  const jsonOnly = cpuRatio([find(LITE_JSON)], [before]);
  const lite = goal(`${tool}: mcp-lite ÷ toolcrib, both on 2025-06-18`, 2, [find(LITE), before]);
  return [
    goal(`${tool}: bare ÷ toolcrib`, 0.75, [find('bare node:http'), ours]),
    goal(`${tool}: official SDK v2 ÷ toolcrib`, 12, [find('official SDK v2'), ours]),
    { ...lite, beside: `${lite.beside}; ${figure(jsonOnly)} × if JSON only is accepted` },
  ];
}

function goal(what: string, least: number, [theirs, ours]: readonly [Figures, Figures]): Goal {
  return {
    what,
    measured: cpuRatio([theirs], [ours]),
    bound: 'at least',
    goal: least,
    unit: '×',
    beside: `${figure(ours.perSecond / theirs.perSecond)} × by requests/s`,
  };
}
