import { ToolcribError } from '../../base/errors.ts';
import type { ModelChoice } from '../agent-config.ts';

/** A model in the user's map: another name, or whatever differs from a bare name. */
export type NamedModel = string | (Partial<ModelChoice> & { readonly name: string });

/** What names are resolved with. */
export interface ResolveModelOptions {
  /** The user's names for models: `sonnet`, `inherit`, `provider/id`. */
  readonly models?: Readonly<Record<string, NamedModel>>;
  /** Used where a file names no model, or an unknown one. */
  readonly default?: NamedModel;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** Which model is used, by which API and where; no key is in it. */
export interface ResolvedModel {
  readonly name: string;
  readonly api: NonNullable<ModelChoice['api']>;
  /** The provider's own address where it is `undefined`. */
  readonly baseUrl: string | undefined;
  /** The variable whose content is sent there; `undefined` for none. */
  readonly keyVariable: string | undefined;
  readonly maxOutputTokens: number | undefined;
}

const OPEN: ModelChoice = {
  name: undefined,
  api: undefined,
  baseUrl: undefined,
  keyVariable: undefined,
  maxOutputTokens: undefined,
};
const MAX_LINKS = 8;
// Names that mean the default model of the program they were written for.
const ALIASES = /^(?:inherit|default|auto|sonnet|opus|haiku|fast|smart)$/i;
const PROVIDERS: Readonly<Record<string, Partial<ModelChoice>>> = {
  openai: { api: 'openai-responses' },
  anthropic: { api: 'anthropic-messages' },
  ollama: { api: 'openai-chat', baseUrl: 'http://127.0.0.1:11434/v1' },
  lmstudio: { api: 'openai-chat', baseUrl: 'http://127.0.0.1:1234/v1' },
};
/** Says which model would be used, and where its key would be sent, without making it. */
export function resolveModel(choice: ModelChoice, options: ResolveModelOptions = {}): ResolvedModel {
  const named = follow(choice, options.models ?? {});
  const known = named.name === undefined ? undefined : placed(named as Named);
  if (known) return withAddress(known, options);
  const usual =
    options.default === undefined ? undefined : follow(toChoice(options.default), options.models ?? {});
  const fallback = usual?.name === undefined ? undefined : placed(usual as Named);
  if (fallback)
    return withAddress(
      { ...fallback, maxOutputTokens: choice.maxOutputTokens ?? fallback.maxOutputTokens },
      options,
    );
  throw whichModel(usual?.name ?? named.name);
}

type Named = ModelChoice & { readonly name: string };
type Placed = Named & { readonly api: NonNullable<ModelChoice['api']> };

// Settings of the map win over those that follow from the name; settings of the file win over the map.
function follow(choice: ModelChoice, models: Readonly<Record<string, NamedModel>>): ModelChoice {
  let current = choice;
  for (let links = 0; links < MAX_LINKS; links++) {
    const key = current.name ?? 'inherit';
    const entry = Object.hasOwn(models, key) ? toChoice(models[key]!) : undefined;
    if (!entry || entry.name === current.name) return entry ? combined(current, entry) : current;
    current = combined(current, entry);
  }
  throw new ToolcribError('invalid_setup', `The map of models leads in a circle at ${current.name}.`);
}

function combined(choice: ModelChoice, entry: ModelChoice): ModelChoice {
  return {
    name: entry.name,
    api: choice.api ?? entry.api,
    baseUrl: choice.baseUrl ?? entry.baseUrl,
    keyVariable: choice.keyVariable ?? entry.keyVariable,
    maxOutputTokens: choice.maxOutputTokens ?? entry.maxOutputTokens,
  };
}

function toChoice(named: NamedModel): ModelChoice {
  return typeof named === 'string' ? { ...OPEN, name: named } : { ...OPEN, ...named };
}

function placed(choice: Named): Placed | undefined {
  const { name, api, baseUrl } = choice;
  // Behind a custom base URL any name is valid, also one with a slash.
  if (baseUrl !== undefined) return { ...choice, api: api ?? guessByAddress(baseUrl) };
  const [provider = '', ...id] = name.split('/');
  const known = id.length > 0 && Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined;
  if (known) return { ...choice, ...known, name: id.join('/'), api: api ?? known.api! };
  const guessed = api ?? guessByName(name);
  return guessed && !ALIASES.test(name) ? { ...choice, api: guessed } : undefined;
}

function guessByAddress(baseUrl: string): Placed['api'] {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : '';
  return host === 'api.anthropic.com' ? 'anthropic-messages' : 'openai-chat';
}

function guessByName(name: string): Placed['api'] | undefined {
  if (/^claude\b/i.test(name)) return 'anthropic-messages';
  return /^(?:gpt-|o\d|chatgpt|codex)/i.test(name) ? 'openai-responses' : undefined;
}

// A key of the environment goes to its provider, or to where the environment itself or the choice sends it.
function withAddress(choice: Placed, { environment = process.env }: ResolveModelOptions): ResolvedModel {
  const { name, api, keyVariable, maxOutputTokens } = choice;
  const company = api === 'anthropic-messages' ? 'ANTHROPIC' : 'OPENAI';
  const own = environment[`${company}_BASE_URL`];
  const baseUrl = choice.baseUrl ?? (own === '' ? undefined : own);
  const isProviders = choice.baseUrl === undefined || isProvidersOwn(choice.baseUrl, api);
  return {
    name,
    api,
    baseUrl,
    keyVariable: keyVariable ?? (isProviders ? `${company}_API_KEY` : undefined),
    maxOutputTokens,
  };
}

function isProvidersOwn(baseUrl: string, api: Placed['api']): boolean {
  if (!URL.canParse(baseUrl)) return false;
  return (
    new URL(baseUrl).origin ===
    (api === 'anthropic-messages' ? 'https://api.anthropic.com' : 'https://api.openai.com')
  );
}

function whichModel(name: string | undefined): ToolcribError {
  const problem = name === undefined ? 'No model is named' : `Nothing here says what the model "${name}" is`;
  const entry = name === undefined ? 'name a "default"' : `give "${name}" a meaning`;
  return new ToolcribError(
    'invalid_setup',
    `${problem}: which one is to be used? Say --model claude-sonnet-4-5 or --model gpt-5.4, name it in the agent's ` +
      `file (model, api, baseUrl), or ${entry} in ~/.config/toolcrib/models.yaml. For a local server: ` +
      '--model ollama/qwen3.',
  );
}
