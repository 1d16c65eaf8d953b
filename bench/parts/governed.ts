import { answersOf, verifySameBytes } from '../answers.ts';
import { type Deployment, fileSystemOf, makeDeployment } from '../deployment.ts';
import { type Bench, cpuRatio, type Figures, measure } from '../measure.ts';
import { figure, type Goal, type PartResult } from '../report.ts';
import { type BenchRequest, type BenchTool, callRequest, withKeys } from '../requests.ts';
import { type HttpTarget, type ServedSpec, type TargetSpec, withTargets } from '../target-process.ts';
import { type LineStep, lineSteps } from '../targets/target.ts';
import { verifyCall } from '../verify.ts';

/** Shows what each stage adds to a call, up to a gateway with everything on. */
export async function governedPart(bench: Bench): Promise<PartResult> {
  const steps = await stepSpecs();
  const [reading, effects] = [await gateway(EVERYTHING, { readOnly: true }), await gateway(EFFECTS, {})];
  const small = await measureBeside([...steps, reading, effects], ['echo'], bench);
  // In processes of their own: large results leave a heap behind that small ones would be measured with.
  const large = await measureBeside(
    [await gateway(EVERYTHING, { readOnly: true, bulk: true })],
    bulky,
    bench,
  );
  return {
    title: '8. The governed line',
    about: about(reading.deployment.folder),
    table: {
      columns: ['Target', 'tool', 'CPU µs', 'requests/s', 'p50 ms', 'p99 ms'],
      textColumns: 2,
      rows: [...small, ...large].map(row),
    },
    goals: goalsOf(small),
  };
}

async function measureBeside(
  governed: readonly Governed[],
  tools: readonly BenchTool[],
  bench: Bench,
): Promise<MeasuredLine[]> {
  const isBulky = tools === bulky;
  const plainSpec = { name: PLAIN, file: 'toolcrib', options: { tools: 10, bulk: isBulky } };
  const others = isBulky ? [] : [SDK];
  return withTargets([plainSpec, ...others, ...governed.map(({ spec }) => spec)], async (targets) => {
    const [plain, ...rest] = targets;
    if (!plain) throw new Error('Not every target was started.');
    const sdk = isBulky ? undefined : rest.shift();
    const answers = await answersOf(plain, ['echo', 'echo_object', ...(isBulky ? bulky : [])]);
    const bareSpec = { name: BARE, file: 'bare', options: { tools: 10, answers } };
    return withTargets([bareSpec], async ([bare]) => {
      if (!bare) throw new Error('The bare target was not started.');
      for (const tool of tools) await verifySameBytes(bare, plain, tool);
      const guarded = rest.map((target, index) => ({ target, deployment: governed[index]!.deployment }));
      return measureLines(
        tools.flatMap((tool) => linesOf({ open: [bare, plain], sdk, guarded }, tool)),
        bench,
      );
    });
  });
}

function about(folder: string): string {
  return (
    'One `tools/call` on 2026-07-28. CPU is that of the server process for one request, the thread that owns the store included. Each line adds ' +
    'to the one before; arguments and results are validated in all of them. Of the 100 access rules the last one lets the caller in; limits are ' +
    'far above the load; `trace` is off. *Everything on* is `toolcrib serve` with the configuration file, keys and SQLite store of a deployment ' +
    `(on ${fileSystemOf(folder)}): idempotency, cache, circuit breaker, retry, commit and timeout come on top. A tool that only reads is one row of the record ` +
    'for a call, one with effects is two, each synced before what follows it. `bulk_text` answers with 32 kB of text, `bulk_object` with an ' +
    'object of 32 kB, which the answer holds twice: as text, too.'
  );
}

const BARE = 'bare node:http';
const EVERYTHING = 'everything on';
const EFFECTS = 'everything on, a tool with effects';
const PLAIN = 'toolcrib, no stage';
const SDK: TargetSpec = { name: 'official SDK v2', file: 'sdk', options: { tools: 10 } };

const bulky: readonly BenchTool[] = ['bulk_text', 'bulk_object'];

const stepNames: Readonly<Record<LineStep, string>> = {
  keys: '+ API key and tenant',
  access: '+ 100 access rules',
  limits: '+ rate and concurrency limits',
  sanitizeInput: '+ sanitizeInput',
  sanitize: '+ sanitize',
  metrics: '+ metrics',
  audit: '+ audit in SQLite',
};

interface Governed {
  readonly spec: TargetSpec | ServedSpec;
  readonly deployment: Deployment;
}

async function stepSpecs(): Promise<Governed[]> {
  const specs: Governed[] = [];
  for (const step of lineSteps) {
    const deployment = await makeDeployment({ tools: { tools: 10 } });
    const options = { tools: 10, step, deployment: deployment.folder };
    specs.push({ spec: { name: stepNames[step], file: 'governed-steps', options }, deployment });
  }
  return specs;
}

async function gateway(name: string, wanted: { bulk?: boolean; readOnly?: boolean }): Promise<Governed> {
  const deployment = await makeDeployment({ tools: { tools: 10, ...wanted } });
  return { spec: { name, config: deployment.config }, deployment };
}

interface Line {
  readonly name: string;
  readonly target: HttpTarget;
  readonly tool: BenchTool;
  readonly request: BenchRequest;
}

interface MeasuredLine extends Line {
  readonly figures: Figures;
}

interface GovernedTarget {
  readonly target: HttpTarget;
  readonly deployment: Deployment;
}

interface Contenders {
  readonly open: readonly HttpTarget[];
  readonly sdk: HttpTarget | undefined;
  readonly guarded: readonly GovernedTarget[];
}

function linesOf({ open, sdk, guarded }: Contenders, tool: BenchTool): Line[] {
  const request = callRequest(tool, '2026-07-28');
  const line = (target: HttpTarget): Line => ({ name: target.name, target, tool, request });
  return [
    ...open.map(line),
    ...guarded.map(({ target, deployment }) => ({
      ...line(target),
      request: withKeys(request, deployment.keys),
    })),
    ...(sdk ? [line(sdk)] : []),
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

function row({ name, tool, figures }: MeasuredLine): string[] {
  const { cpuMicros, perSecond, p50Ms, p99Ms } = figures;
  return [name, tool, ...[cpuMicros, perSecond, p50Ms, p99Ms].map(figure)];
}

function goalsOf(lines: readonly MeasuredLine[]): Goal[] {
  const find = (name: string): Figures => {
    const line = lines.find((each) => each.name === name && each.tool === 'echo');
    if (line === undefined) throw new Error(`Not measured: ${name}.`);
    return line.figures;
  };
  const [bare, everything, effects] = [find(BARE), find(EVERYTHING), find(EFFECTS)];
  return [
    goal('only reading: bare ÷ everything on', 0.55, [bare, everything]),
    goal('only reading: official SDK v2 ÷ everything on', 10, [find(SDK.name), everything]),
    goal('with effects: bare ÷ everything on', 0.4, [bare, effects]),
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
