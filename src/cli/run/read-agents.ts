import { ToolcribError } from '../../base/errors.ts';
import type { AgentConfig, ModelChoice } from '../../host/agent-config.ts';
import { describeGrants } from '../../host/files/describe-grants.ts';
import { createModel, type CreateModelOptions } from '../../host/models/create-model.ts';
import { resolveModel, type ResolvedModel } from '../../host/models/resolve-model.ts';
import type { Model } from '../../host/models/model.ts';
import { ask } from '../client/ask.ts';
import { confirmAgent } from '../agents/confirm-agent.ts';
import { openAgentFile, type FoundAgent } from '../agents/show.ts';
import { complain } from '../complain.ts';
import type { UserModels } from './user-models.ts';

/** An agent that was read and agreed to, and those it may ask. */
export interface ReadAgent {
  readonly config: AgentConfig;
  readonly model: Model;
  /** Values that must not be shown or recorded. */
  readonly secrets: readonly string[];
  readonly ownTools: FoundAgent['ownTools'];
  /** Filled in after the agent itself, because agents may ask each other. */
  readonly agents: ReadAgent[];
}

/** The options of the command line about agents and models. */
export interface ReadAgentFlags {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly keyVariable?: string;
  readonly yes?: boolean;
}

/** What agents are read with. */
export interface ReadAgentContext {
  readonly flags: ReadAgentFlags;
  readonly user: UserModels;
  /** Stands in for the model of an agent, such as a recorded one. */
  readonly modelOf?: ((config: AgentConfig) => Model) | undefined;
}

const MAX_AGENTS = 32;

/** Reads an agent and those it may ask; each file is agreed to before anything of it is used. */
export async function readAgents(reference: string, context: ReadAgentContext): Promise<ReadAgent> {
  return readOne(reference, context, new Map());
}

async function readOne(
  reference: string,
  context: ReadAgentContext,
  seen: Map<string, ReadAgent>,
): Promise<ReadAgent> {
  const known = seen.get(reference);
  if (known) return known;
  if (seen.size >= MAX_AGENTS)
    throw new ToolcribError(
      'invalid_setup',
      `The agents may ask more than ${MAX_AGENTS} others; name fewer.`,
    );
  const { config, secrets, ownTools } = await readConfig(reference, context.flags);
  const { model, resolved } = await modelFor(config, context, seen.size === 0);
  if (!context.flags.yes) await confirmAgent({ config, secrets, ownTools, model: resolved });
  const read: ReadAgent = { config, model, secrets, ownTools, agents: [] };
  seen.set(reference, read);
  for (const other of config.agents) read.agents.push(await readOne(other, context, seen));
  return read;
}

async function readConfig(reference: string, flags: ReadAgentFlags): Promise<FoundAgent> {
  const opened = await openAgentFile(reference, flags);
  const { config } = opened;
  for (const note of config.notes) complain(note);
  // In files of other programs, missing fields have other meanings.
  if (config.format !== 'toolcrib') complain(describeGrants(config));
  return opened;
}

interface ChosenModel {
  readonly model: Model;
  /** `undefined` where no endpoint is asked. */
  readonly resolved: ResolvedModel | undefined;
}

// The command line says which model the agent itself uses; the agents it asks keep their own.
async function modelFor(
  config: AgentConfig,
  context: ReadAgentContext,
  isFirst: boolean,
): Promise<ChosenModel> {
  const { user, flags } = context;
  if (context.modelOf) return { model: context.modelOf(config), resolved: undefined };
  const options: CreateModelOptions = {
    models: user.models,
    ...((flags.model ?? user.default) !== undefined && { default: flags.model ?? user.default! }),
  };
  const choice = isFirst ? withFlags(config.model, flags) : config.model;
  try {
    return { model: createModel(choice, options), resolved: resolveModel(choice, options) };
  } catch (error) {
    const answer = isUnnamed(error) ? await ask(`${(error as Error).message}\nModel: `) : undefined;
    if (answer === undefined || answer.trim() === '') throw error;
    const named = withFlags(choice, { ...flags, model: answer.trim() });
    return { model: createModel(named, options), resolved: resolveModel(named, options) };
  }
}

function isUnnamed(error: unknown): boolean {
  return error instanceof ToolcribError && error.message.includes('which one is to be used?');
}

// A model of the command line has nothing to do with the address or the key that a file names.
function withFlags(choice: ModelChoice, { model, baseUrl, keyVariable }: ReadAgentFlags): ModelChoice {
  const { maxOutputTokens } = choice;
  const named: ModelChoice =
    model === undefined
      ? choice
      : { name: model, api: undefined, baseUrl: undefined, keyVariable: undefined, maxOutputTokens };
  if (baseUrl === undefined) return { ...named, keyVariable: keyVariable ?? named.keyVariable };
  return { ...named, api: model === undefined ? named.api : undefined, baseUrl, keyVariable };
}
