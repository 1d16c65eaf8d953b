import { AbstractTool } from '../core/authoring/abstract-tool.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { hasContext } from '../core/caller.ts';
import type { ToolContext } from '../core/context.ts';
import type { ToolSource } from '../core/source.ts';

/** What the tool reports; nothing else about the server is shown. */
export interface ServerInfoConfig {
  readonly name: string;
  readonly version: string;
  /** Lists the tools of the caller, and what else is offered. */
  readonly source: Pick<ToolSource, 'list' | 'resources' | 'prompts'>;
  /** Settings that callers may know, by name. */
  readonly configuration?: Readonly<Record<string, unknown>>;
  readonly clock?: Clock;
}

/** Tells which server this is, which protocol revision is in use and how many tools its caller has. */
export class ServerInfoTool extends AbstractTool<{ include_context: boolean }> {
  readonly #config: ServerInfoConfig;
  readonly #clock: Clock;
  readonly #startedAt: number;

  constructor(config: ServerInfoConfig) {
    super(
      'server_info',
      'Describes this server. Returns its name, version, protocol version, capabilities, settings, tool count and uptime. Use it to see what you are connected to.',
      {
        properties: {
          include_context: {
            type: 'boolean',
            description: 'Also tell which context facts exist, by name only.',
            default: false,
          },
        },
      },
      { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    );
    this.#config = config;
    this.#clock = config.clock ?? systemClock;
    this.#startedAt = this.#clock.now();
  }

  async execute(
    { include_context: includeContext }: { include_context: boolean },
    context: ToolContext,
  ): Promise<unknown> {
    const { name, version, source, configuration } = this.#config;
    const isKnown = hasContext(context.tenant);
    return {
      server: { name, version },
      protocol_version: context.client.protocolVersion ?? null,
      capabilities: {
        tools: {},
        ...(source.resources && { resources: {} }),
        ...(source.prompts && { prompts: {} }),
      },
      ...(configuration && { configuration }),
      tool_count: (await source.list(context.caller)).length,
      uptime_seconds: Math.floor((this.#clock.now() - this.#startedAt) / 1000),
      ...(includeContext && {
        context: { has_context: isKnown, context_keys: isKnown ? Object.keys(context.context_data) : [] },
      }),
    };
  }
}

/** The `server_info` tool. */
export function serverInfoTool(config: ServerInfoConfig): ServerInfoTool {
  return new ServerInfoTool(config);
}
