import type { Call, ToolCall } from './call.ts';
import type { Caller } from './caller.ts';
import type { Result } from './result.ts';
import { andThen, type Awaitable, type ToolSource } from './source.ts';
import type { Tool } from './tool.ts';

/** The rest of the line, from a stage's point of view. */
export type Next<C extends Call = ToolCall> = (call: C) => Awaitable<Result>;

/** A named step in front of a source. */
export interface Stage {
  readonly name: string;
  /** Hides a tool from a caller (`null`) or changes its definition; listing and finding both go through it. */
  readonly expose?: (tool: Tool, caller: Caller) => Tool | null;
  /** Puts something around the call; runs once per tool, not per call. Returns `next` itself where it does not apply. */
  readonly wrap?: (tool: Tool, next: Next) => Next;
}

/** The same source behind stages, the first one outermost. */
export function withStages(source: ToolSource, stages: readonly Stage[]): ToolSource {
  const lines = new WeakMap<Tool, Next>();
  const lineOf = (tool: Tool): Next => {
    let line = lines.get(tool);
    if (!line) {
      line = stages.reduceRight<Next>(
        (next, stage) => stage.wrap?.(tool, next) ?? next,
        (call) => source.call(call),
      );
      lines.set(tool, line);
    }
    return line;
  };
  return {
    ...withExposure(source, stages),
    call: (call) => (call.kind === 'tool' ? lineOf(call.tool)(call) : source.call(call)),
    get resources() {
      return source.resources;
    },
    get prompts() {
      return source.prompts;
    },
    ...(source.watch && { watch: (listener) => source.watch!(listener) }),
  };
}

type Views = Pick<ToolSource, 'list' | 'find'>;

function withExposure(source: ToolSource, stages: readonly Stage[]): Views {
  const exposing = stages.filter((stage) => stage.expose);
  if (exposing.length === 0)
    return { list: (caller) => source.list(caller), find: (name, caller) => source.find(name, caller) };

  const seen = new WeakMap<Caller, WeakMap<Tool, Tool | null>>();
  const exposeTo = (tool: Tool, caller: Caller): Tool | null => {
    const known = remember(seen, caller, () => new WeakMap<Tool, Tool | null>());
    return remember(known, tool, () =>
      exposing.reduce<Tool | null>((shown, stage) => shown && stage.expose!(shown, caller), tool),
    );
  };
  const views = new WeakMap<Caller, WeakMap<readonly Tool[], readonly Tool[]>>();
  const viewOf = (all: readonly Tool[], caller: Caller): readonly Tool[] => {
    const known = remember(views, caller, () => new WeakMap<readonly Tool[], readonly Tool[]>());
    return remember(known, all, () => Object.freeze(all.flatMap((tool) => exposeTo(tool, caller) ?? [])));
  };
  return {
    list: (caller) => andThen(source.list(caller), (all) => viewOf(all, caller)),
    find: (name, caller) =>
      andThen(source.find(name, caller), (tool) => (tool && exposeTo(tool, caller)) ?? undefined),
  };
}

function remember<K extends object, V>(memory: WeakMap<K, V>, key: K, make: () => V): V {
  if (memory.has(key)) return memory.get(key) as V;
  const value = make();
  memory.set(key, value);
  return value;
}
