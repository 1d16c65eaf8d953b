import { accident, ToolcribError } from '../../base/errors.ts';
import { askToolName, ruleOf } from '../../config/agents.ts';
import { formatPath } from '../../config/complaint.ts';
import type { ToolCall } from '../../core/call.ts';
import type { CallRecord } from '../../core/record.ts';
import { failed, type Result } from '../../core/result.ts';
import type { ToolSource } from '../../core/source.ts';
import { governedName, type Tool } from '../../core/tool.ts';
import { gatewayAgentConfig } from '../../host/files/gateway-agent.ts';
import { Conversation } from '../../host/loop/conversation.ts';
import type { AgentRun, RunEvent } from '../../host/loop/run-events.ts';
import type { AskingRun } from '../../host/loop/run-frame.ts';
import { createModel } from '../../host/models/create-model.ts';
import type { Model } from '../../host/models/model.ts';
import { grantedBy } from '../../host/tools/filter-tools.ts';
import type { AgentConfig } from '../../host/agent-config.ts';
import { unmatchedFarTools } from '../settings/agent-conflicts.ts';
import type { Config } from '../settings/config.ts';
import { servedLimits, type AgentEntry, type ServedLimits } from '../settings/agents.ts';
import type { Lasting } from '../lasting.ts';
import { CallersAgent } from './callers-agent.ts';

/** The parts that agents need to answer. */
export interface AskedAgentsParts {
  readonly config: Config;
  readonly lasting: Pick<Lasting, 'log' | 'clock' | 'metrics' | 'allowance' | 'runs'>;
  /** The tools behind all stages. */
  readonly source: Pick<ToolSource, 'list' | 'find' | 'call'>;
  /** All tools, regardless of who may use them. */
  readonly everything: () => Pick<ToolSource, 'list'>;
}

// The run that asks for an agent, and the agents that led to it.
interface OuterRun {
  readonly run: AskingRun;
  readonly chain: readonly string[];
  /** Notes tokens that are counted for the agent that was asked. */
  onCounted(tokens: number): void;
}

interface Ready {
  readonly name: string;
  readonly entry: AgentEntry;
  readonly limits: ServedLimits;
  readonly config: AgentConfig;
  readonly model: Model;
  readonly isGranted: (name: string) => boolean;
}

const MAX_DEPTH = 4;

/** Answers the calls of agents: each answer is one run, for the caller of that call. */
export class AskedAgents {
  readonly #parts: AskedAgentsParts;
  readonly #ready = new Map<string, Ready>();
  readonly #outerRuns = new WeakMap<CallRecord, OuterRun>();
  readonly #agentOf: ReadonlyMap<string, string>;
  readonly #warned = new Set<string>();

  constructor(parts: AskedAgentsParts) {
    this.#parts = parts;
    const served = Object.entries(parts.config.agents ?? {}).filter(([, { serve }]) => serve !== false);
    this.#agentOf = new Map(served.map(([name]) => [askToolName(name), name]));
  }

  /** Has an agent answer the question of a call. */
  async answer(call: ToolCall, name: string): Promise<Result> {
    const { log, allowance, runs } = this.#parts.lasting;
    const ready = this.#readied(name, call);
    const outer = this.#outerRuns.get(call.record);
    const allotment = allowance.take(call.caller, name, ready.limits);
    const end = runs.begin(call);
    let used = 0;
    let counted = 0;
    const tell = progressOf(call);
    let conversation: Conversation | undefined;
    const chain = [...(outer?.chain ?? []), name];
    const agent = new CallersAgent({
      config: ready.config,
      outer: call,
      source: this.#parts.source,
      isGranted: (tool) => this.#mayUse(ready, tool, chain),
      onCall: (record, id) => {
        const run = conversation?.asking(id);
        if (run) this.#outerRuns.set(record, { run, chain, onCounted: (tokens) => (counted += tokens) });
      },
      log,
    });
    const onEvent = (event: RunEvent): void => {
      if (event.type === 'run:end') used = event.usage.inputTokens + event.usage.outputTokens;
      tell(event);
    };
    try {
      await agent.refresh();
      void this.#warnUnmatched(ready, call);
      conversation = new Conversation(
        agent,
        { model: ready.model, limits: { tokens: allotment.tokens }, onEvent },
        outer?.run,
      );
      const { signal } = call.cancellation;
      const { question } = call.arguments as { readonly question: string };
      const run = await conversation.say(question, { signal });
      return resultOf(run, { name, call, isShort: allotment.tokens < ready.limits.tokens });
    } catch (error) {
      throw failureOf(error, name, call);
    } finally {
      end();
      allotment.settle(used);
      // The usage of a run includes that of the agents it asked.
      this.#count(name, Math.max(0, used - counted));
      outer?.onCounted(used);
    }
  }

  // Agents ask others by name. One that led to this run is not asked again, or they would ask in a circle.
  #mayUse({ entry, isGranted }: Ready, tool: Tool, chain: readonly string[]): boolean {
    const asked = tool.place ? undefined : this.#agentOf.get(tool.name);
    if (asked !== undefined)
      return entry.agents.includes(asked) && !chain.includes(asked) && chain.length < MAX_DEPTH;
    if (tool.place && !entry.mcpServers.includes(tool.place.source)) return false;
    return isGranted(governedName(tool));
  }

  #readied(name: string, call: ToolCall): Ready {
    const known = this.#ready.get(name);
    if (known) return known;
    try {
      const ready = this.#makeReady(name);
      this.#ready.set(name, ready);
      return ready;
    } catch (error) {
      throw failureOf(error, name, call);
    }
  }

  #makeReady(name: string): Ready {
    const { config, lasting } = this.#parts;
    const entry = config.agents![name]!;
    const limits = servedLimits(entry)!;
    const { tokensPerHour: _hour, ...perRun } = limits;
    const made = gatewayAgentConfig(name, entry, config.mcpServers ?? {});
    return {
      name,
      entry,
      limits,
      config: { ...made, limits: { ...made.limits, ...perRun } },
      model: createModel(made.model, { clock: lasting.clock }),
      isGranted: grantedBy(ruleOf(entry.tools)),
    };
  }

  async #warnUnmatched({ name, entry }: Ready, { caller }: ToolCall): Promise<void> {
    const { lasting, everything } = this.#parts;
    try {
      const placed = (await everything().list(caller)).filter(({ place }) => place !== undefined);
      for (const one of unmatchedFarTools({ agents: { [name]: entry } }, placed.map(governedName))) {
        const text = `${formatPath(one.path)} ${one.message}; ${one.remedy}`;
        if (!this.#warned.has(text)) lasting.log('warn', text);
        this.#warned.add(text);
      }
    } catch {
      // The failure is reported where the list is needed.
    }
  }

  #count(agent: string, tokens: number): void {
    const help = 'Tokens that models of agents used for callers.';
    this.#parts.lasting.metrics
      .counter('toolcrib_agent_tokens_total', help, ['agent'])
      .child(agent)
      .inc(tokens);
  }
}

function progressOf({ voice }: ToolCall): (event: RunEvent) => void {
  let progress = 0;
  // Read again each time: a call that waited for a person continues in another request.
  const tell = (message: string): void => voice.report?.({ progress: ++progress, message });
  return (event) => {
    if (event.type === 'turn:start') tell('The model is asked.');
    else if (event.type === 'tool:start') tell(`${event.tool} is called.`);
    else if (event.type === 'tool:progress' && event.progress.message !== undefined)
      tell(`${event.tool}: ${event.progress.message}`);
  };
}

interface Answered {
  readonly name: string;
  readonly call: ToolCall;
  /** Whether less was left of the caller's hour than a run may use. */
  readonly isShort: boolean;
}

function resultOf({ ending, text, output, usage }: AgentRun, { name, call, isShort }: Answered): Result {
  const { turns, calls, inputTokens, outputTokens } = usage;
  const meta = { 'dev.toolcrib/agent': { turns, calls, inputTokens, outputTokens } };
  switch (ending.kind) {
    case 'finished':
      if (output !== undefined) return { kind: 'done', data: output, meta };
      return { kind: 'done', content: [{ type: 'text', text }], meta };
    case 'cancelled':
      throw call.cancellation.reason ?? new ToolcribError('cancelled', 'The call was cancelled.');
    case 'limit': {
      const remedy =
        isShort && ending.setting === 'limits.tokens'
          ? 'You have used up what you may use of it in an hour; ask again later.'
          : 'Ask for less at a time, or have the operator raise that limit.';
      const said = text === '' ? '' : ` What it said so far: ${text}`;
      return failed(`${name} did not finish. ${ending.message} ${remedy}${said}`, meta);
    }
    case 'refused':
      return failed(`The model of ${name} declines to answer: ${ending.message}`, meta);
    case 'invalid_output':
      return failed(`${name} gave no answer of the right form: ${ending.message} Ask again.`, meta);
  }
}

const PASSING: ReadonlySet<string> = new Set([
  'upstream_unavailable',
  'rate_limited',
  'timed_out',
  'invalid_answer',
]);

// The text of an endpoint is for the operator alone: it names addresses and variables.
function failureOf(error: unknown, name: string, { cancellation }: ToolCall): unknown {
  if (cancellation.reason) return cancellation.reason;
  if (error instanceof ToolcribError && PASSING.has(error.code))
    return new ToolcribError(
      'upstream_unavailable',
      `The model of ${name} does not answer right now, so there is no answer; try again later.`,
      { cause: error },
    );
  return accident('tool_failed', `${name} cannot work at the moment`, error);
}
