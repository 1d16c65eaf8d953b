import { systemClock, type Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import { contentParts } from '../models/content-parts.ts';
import type { Message, Part } from '../models/model.ts';
import { searchToolsTool } from '../models/search-tools.ts';
import { readMoreTool, Spill } from '../models/spill.ts';
import { createToolBlock, type ToolBlock } from '../models/tool-block.ts';
import { askAgentTool, type RunAsked } from './ask-agent.ts';
import type { OwnTool } from './own-tool.ts';
import { Run } from './run.ts';
import type { AskingRun, RunFrame } from './run-frame.ts';
import type { AgentRun, RunSink } from './run-events.ts';
import type { AskOptions, ConversationOptions, RunnableAgent } from './run-options.ts';
import { AgentSkills } from './agent-skills.ts';

const MAX_DEPTH = 4;

/** A conversation with an agent; each question is one run, and runs come one after the other. */
export class Conversation implements RunFrame {
  readonly agent: RunnableAgent;
  readonly options: ConversationOptions;
  readonly clock: Clock;
  readonly spill = new Spill();
  readonly block: ToolBlock;
  readonly askedBy: AskingRun | undefined;
  messages: readonly Message[];
  readonly #skills: AgentSkills | undefined;
  readonly #own: readonly OwnTool[];
  readonly #introduced = new Set<string>();
  #current: Run | undefined;

  constructor(agent: RunnableAgent, options: ConversationOptions, askedBy?: AskingRun) {
    this.agent = agent;
    this.options = options;
    this.askedBy = askedBy;
    this.clock = options.clock ?? systemClock;
    this.messages = options.messages ?? [];
    this.#skills = agent.config.skills
      ? new AgentSkills({
          agent,
          spill: this.spill,
          onSkill: options.onSkill && ((request) => this.#current!.askAboutSkill(request)),
          onNote: (text) => this.#current?.note(text),
        })
      : undefined;
    this.#own = this.#ownTools();
    this.block = createToolBlock({
      features: options.model.features,
      servers: agent.config.servers,
      own: this.#own.map(({ definition }) => definition),
      ...(options.maxToolTokens !== undefined && { maxTokens: options.maxToolTokens }),
    });
  }

  /** Asks, and waits for the answer. */
  async say(prompt: string | readonly Part[] | undefined, options: AskOptions = {}): Promise<AgentRun> {
    if (this.#current)
      throw new ToolcribError('busy', 'A run of this conversation is under way; wait for it or cancel it.');
    const parts: readonly Part[] =
      typeof prompt === 'string' ? [{ type: 'text', text: prompt }] : (prompt ?? []);
    if (parts.length === 0 && this.messages.at(-1)?.role !== 'user')
      throw new ToolcribError('invalid_setup', 'There is nothing to answer: give a prompt.');
    const run = new Run(this, options);
    this.#current = run;
    try {
      return await run.answer(parts);
    } finally {
      this.#current = undefined;
    }
  }

  /** The settings of another run that works for the current one, by the call that asks for it. */
  asking(call: string): AskingRun | undefined {
    return this.#current?.asking(call);
  }

  /** A tool of the host by the name the model knows; it wins over a server's. */
  ownTool(name: string): OwnTool | undefined {
    // The search for tools belongs to the block, which offers it where definitions are held back.
    if (name === searchToolsTool.name && this.block.hasSearch)
      return { definition: searchToolsTool, isHarmless: true, call: (args) => this.block.find(args) };
    return this.#own.find(({ definition }) => definition.name === name);
  }

  /** Notes for the model before its next turn, beside the question. */
  async news(): Promise<readonly Part[]> {
    return [...this.#introductions(), ...((await this.#skills?.list()) ?? [])];
  }

  /** Notifies all listeners. */
  readonly tell: RunSink = (event) => {
    this.options.record?.(event);
    this.options.onEvent?.(event);
  };

  #introductions(): readonly Part[] {
    return this.agent.servers.flatMap(({ name, instructions, state }) => {
      if (state.kind !== 'connected' || this.#introduced.has(name)) return [];
      this.#introduced.add(name);
      if (instructions === undefined || instructions.trim() === '') return [];
      const text = `How to use its tools, in its own words:\n${instructions}`;
      return contentParts(
        { kind: 'done', content: [{ type: 'text', text }] },
        { features: { images: false }, server: name },
      ).content;
    });
  }

  #ownTools(): readonly OwnTool[] {
    const readMore: OwnTool = {
      definition: readMoreTool,
      isHarmless: true,
      call: (args) => this.spill.read(args),
    };
    const isDeep = (this.askedBy?.depth ?? 0) >= MAX_DEPTH;
    const askable = isDeep ? [] : (this.options.agents ?? []);
    return [
      readMore,
      ...(this.#skills?.tools ?? []),
      ...askable.map((each) => askAgentTool(each, this.#runAsked)),
    ];
  }

  readonly #runAsked: RunAsked = (opened, question, { id, signal }) => {
    const {
      messages: _messages,
      outputSchema: _schema,
      limits: _limits,
      agents: _agents,
      ...shared
    } = this.options;
    const asked = new Conversation(
      opened.agent,
      {
        ...shared,
        model: opened.model ?? shared.model,
        ...(opened.agents && { agents: opened.agents }),
      },
      this.#current!.asking(id),
    );
    return asked.say(question, { signal });
  };
}
