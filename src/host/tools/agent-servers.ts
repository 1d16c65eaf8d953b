import type { Clock } from '../../base/clock.ts';
import { endsWithin } from '../../base/within.ts';
import type { Listeners } from '../../client/listeners.ts';
import type { HttpOptions } from '../../client/options.ts';
import type { QuestionHandlers } from '../../client/question-handlers.ts';
import { cleanText } from '../../observe/clean-text.ts';
import type { Redact } from '../../observe/secrets.ts';
import type { AgentEvents, AgentServerView } from '../agent.ts';
import type { AgentServer } from '../agent-config.ts';
import { handlersFor, type OnQuestion } from './server-handlers.ts';
import { ServerLink } from './server-link.ts';
import { ServerSource, type HeldBack } from './server-source.ts';

/** What the servers of an agent are connected with. */
export interface AgentServersParts {
  readonly clock: Clock;
  readonly listeners: Listeners<AgentEvents>;
  readonly handlers: QuestionHandlers;
  readonly onQuestion: OnQuestion;
  /** Removes secrets from reports about connections. */
  readonly redact: Redact;
  /** Further options of a connection, such as how it signs in. */
  readonly connection: (server: string, config: AgentServer) => HttpOptions;
}

/** The servers of an agent: each is connected to by itself, so that one that fails holds up no other. */
export class AgentServers {
  readonly sources: Readonly<Record<string, ServerSource>>;
  readonly #links: readonly ServerLink[];

  constructor(servers: Readonly<Record<string, AgentServer>>, parts: AgentServersParts) {
    const made = Object.entries(servers).map(([name, config]) => this.#make(name, config, parts));
    this.#links = made.map(({ link }) => link);
    this.sources = Object.fromEntries(made.map(({ link, source }) => [link.name, source]));
  }

  get views(): readonly AgentServerView[] {
    return this.#links.map(({ name, config, state, instructions, client }) => ({
      name,
      config,
      state,
      instructions,
      client,
    }));
  }

  /** Connects to all at once; resolves when each was tried, or when the time is over. */
  async start(readyMs: number): Promise<void> {
    await endsWithin(readyMs, Promise.all(this.#links.map((link) => link.start())));
  }

  /** What a server lists and the model does not see. */
  heldBack(server: string): readonly HeldBack[] {
    return this.sources[server]?.heldBack ?? [];
  }

  async close(): Promise<void> {
    await Promise.all(this.#links.map((link) => link.close()));
  }

  #make(
    name: string,
    config: AgentServer,
    { clock, listeners, handlers, onQuestion, redact, connection }: AgentServersParts,
  ): { readonly link: ServerLink; readonly source: ServerSource } {
    const warn = (text: string): void => listeners.tell('warning', redact(cleanText(`${name}: ${text}`)));
    const link: ServerLink = new ServerLink(name, config, {
      clock,
      redact,
      connection: { ...connection(name, config), handlers: handlersFor(name, handlers, onQuestion) },
      listener: {
        onState: (state) => listeners.tell('server', { server: name, state }),
        onTools: (tools) => source.take(tools),
        onWarning: warn,
      },
    });
    const source = new ServerSource(link, warn);
    return { link, source };
  }
}
