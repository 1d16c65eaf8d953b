import { absentTool, absentTools, unknownTool } from './absent-tool.ts';
import type { Call, Reading, ToolCall } from './call.ts';
import type { Caller } from './caller.ts';
import { CallerMemory } from './caller-memory.ts';
import { ToolcribError } from '../base/errors.ts';
import { exposeReadings, requirePresent, withoutUnseen, type Readable } from './expose-readings.ts';
import type { Result } from './result.ts';
import { andThen, type Awaitable } from '../base/awaitable.ts';
import type { ToolSource } from './source.ts';
import { trustedLike, type Tool } from './tool.ts';
import { makeRoomIn } from './memory/bounded-map.ts';

/** The next step behind a stage: another stage or, at the end, the source. */
export type Next<C extends Call = ToolCall> = (call: C) => Awaitable<Result>;

/** A named step in front of a source. */
export interface Stage {
  readonly name: string;
  /** Hides a tool from a caller (`null`) or changes its definition; listing and finding both go through it. */
  readonly expose?: (tool: Tool, caller: Caller) => Tool | null;
  /**
   * Whether a caller sees a resource, a template or a prompt. With an address: whether it may read that address through
   * the template; while an address is completed, variables without a value are in it as they are in the template.
   * Finding, following and suggesting go through it too.
   */
  readonly exposeReading?: (target: Readable, caller: Caller, address?: string) => boolean;
  /** The part of a caller that `expose` depends on: callers with the same part share one view. Left out, none do. */
  readonly viewOf?: (caller: Caller) => string;
  /**
   * Wraps the calls of a tool. Called once per tool, not per call. Returns `next` itself where it does not apply.
   */
  readonly wrap?: (tool: Tool, next: Next) => Next;
  /** The same around resources, prompts and completions; runs once. */
  readonly wrapReading?: (next: Next<Reading>) => Next<Reading>;
  /** Wraps the source before any stage sees its tools; unlike `expose` it may wait. */
  readonly wrapSource?: (source: ToolSource) => ToolSource;
}

/** The same source behind stages, the first one outermost. */
export function withStages(given: ToolSource, stages: readonly Stage[]): ToolSource {
  checkStages(stages);
  const source = stages.reduceRight((inner, stage) => stage.wrapSource?.(inner) ?? inner, given);
  const chains = new WeakMap<Tool, Next>();
  // All stages of one tool folded into one function.
  const chainOf = (tool: Tool): Next => {
    let chain = chains.get(tool);
    if (!chain) {
      // Only the innermost stages refuse unknown names: a refusal further out would hide the call from the others.
      const isInnermost = source.stages === undefined;
      const run: Next = isInnermost ? (call) => runPresent(call, source) : (call) => source.call(call);
      const last = isInnermost && absentTools.has(tool) ? refuseAbsent : run;
      chain = stages.reduceRight((next, stage) => stage.wrap?.(tool, next) ?? next, last);
      chains.set(tool, chain);
    }
    return chain;
  };
  const read = stages.reduceRight<Next<Reading>>(
    (next, stage) => stage.wrapReading?.(next) ?? next,
    source.stages === undefined ? (call) => readPresent(call, source) : (call) => source.call(call),
  );
  const readings = exposeReadings(source, stages);
  const behind: ToolSource = {
    ...withExposure(source, stages),
    call: (call) => (call.kind === 'tool' ? chainOf(call.tool)(call) : read(readings.narrow(call))),
    stages: new Set([...(source.stages ?? []), ...stages.map(({ name }) => name)]),
    get resources() {
      return readings.resources();
    },
    get prompts() {
      return readings.prompts();
    },
    ...(source.watch && { watch: (listener) => source.watch!(listener) }),
    ...(source.follow && { follow: (uri, caller) => source.follow!(uri, caller) }),
  };
  made.set(behind, { source: given, stages });
  return behind;
}

/** The same source with more stages inside those it has, nearer to the tool. */
export function withInnerStages(source: ToolSource, inner: readonly Stage[]): ToolSource {
  const known = made.get(source);
  if (!known) return withStages(source, inner);
  const base = made.get(known.source);
  if (!base) return withStages(known.source, [...known.stages, ...inner]);
  return withStages(withInnerStages(known.source, inner), known.stages);
}

// The source and the stages behind each result of `withStages`, so that more stages can be put inside.
const made = new WeakMap<ToolSource, { readonly source: ToolSource; readonly stages: readonly Stage[] }>();

function readPresent(call: Reading, source: ToolSource): Awaitable<Result> {
  requirePresent(call);
  if (call.kind !== 'completion' || !call.isSeen) return runPresent(call, source);
  return andThen(runPresent(call, source), (result) => withoutUnseen(result, call));
}

function runPresent(call: Call, source: ToolSource): Awaitable<Result> {
  call.record.letRun();
  return source.call(call);
}

// A factory that was not called has a name like a stage, and would silently do nothing.
function checkStages(stages: readonly unknown[]): void {
  const wrong = stages.find((stage) => typeof stage === 'function');
  if (typeof wrong !== 'function') return;
  throw new ToolcribError('invalid_setup', `${wrong.name} makes a stage; call it: ${wrong.name}({ ... }).`);
}

function refuseAbsent({ tool }: ToolCall): never {
  throw unknownTool(tool.name);
}

type Views = Pick<ToolSource, 'list' | 'find'>;

/** The tools and lists as callers of one kind see them. */
interface View {
  readonly tools: WeakMap<Tool, Tool | null>;
  readonly lists: WeakMap<readonly Tool[], readonly Tool[]>;
}

// More kinds of caller than this are not remembered at once; the oldest is worked out again when it comes back.
const MAX_VIEWS = 1_000;

function withExposure(source: ToolSource, stages: readonly Stage[]): Views {
  const exposing = stages.filter((stage) => stage.expose);
  if (exposing.length === 0)
    return { list: (caller) => source.list(caller), find: (name, caller) => source.find(name, caller) };

  const viewOf = createViews(exposing);
  const exposeTo = (tool: Tool, caller: Caller, { tools }: View): Tool | null =>
    remember(tools, tool, () => {
      const shown = exposing.reduce<Tool | null>((seen, stage) => seen && stage.expose!(seen, caller), tool);
      return shown && shown !== tool ? trustedLike(tool, shown) : shown;
    });
  const listTo = (all: readonly Tool[], caller: Caller): readonly Tool[] => {
    const view = viewOf(caller);
    return remember(view.lists, all, () =>
      Object.freeze(all.flatMap((tool) => exposeTo(tool, caller, view) ?? [])),
    );
  };
  return {
    list: (caller) => andThen(source.list(caller), (all) => listTo(all, caller)),
    find: (name, caller) =>
      andThen(source.find(name, caller), (tool) => {
        const view = viewOf(caller);
        // The same steps for a hidden tool and for none, so that the time taken does not tell them apart.
        return (tool ? exposeTo(tool, caller, view) : remember(view.tools, NO_TOOL, hidden)) ?? undefined;
      }),
  };
}

const NO_TOOL: Tool = absentTool('');

function hidden(): null {
  return null;
}

function createViews(exposing: readonly Stage[]): (caller: Caller) => View {
  if (!exposing.every((stage) => stage.viewOf)) {
    const own = new WeakMap<Caller, View>();
    return (caller) => remember(own, caller, createView);
  }
  const byCaller = new CallerMemory<View>('view');
  const byKey = new Map<string, View>();
  const share = (caller: Caller): View => {
    const key = JSON.stringify(exposing.map((stage) => stage.viewOf!(caller)));
    let view = byKey.get(key);
    if (!view) {
      makeRoomIn(byKey, MAX_VIEWS);
      byKey.set(key, (view = createView()));
    }
    return view;
  };
  return (caller) => {
    let view = byCaller.get(caller);
    if (!view) byCaller.set(caller, (view = share(caller)));
    return view;
  };
}

function createView(): View {
  return { tools: new WeakMap(), lists: new WeakMap() };
}

function remember<K extends object, V>(memory: WeakMap<K, V>, key: K, make: () => V): V {
  const known = memory.get(key);
  if (known !== undefined || memory.has(key)) return known as V;
  const value = make();
  memory.set(key, value);
  return value;
}
