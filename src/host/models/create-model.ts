import type { ModelChoice } from '../agent-config.ts';
import { anthropicMessages } from './anthropic-messages.ts';
import type { EndpointOptions } from './endpoint-options.ts';
import type { Model } from './model.ts';
import { openAiChat } from './openai-chat.ts';
import { openAiResponses } from './openai-responses.ts';
import { resolveModel, type ResolveModelOptions } from './resolve-model.ts';

/** What a model is made with. */
export interface CreateModelOptions
  extends ResolveModelOptions, Omit<EndpointOptions, 'name' | 'baseUrl' | 'key' | 'keyVariable'> {}

const ADAPTERS = {
  'openai-chat': openAiChat,
  'openai-responses': openAiResponses,
  'anthropic-messages': anthropicMessages,
};

/** Makes the model that an agent's file, the user's map and the environment lead to. */
export function createModel(choice: ModelChoice, options: CreateModelOptions = {}): Model {
  const { models: _models, default: _default, environment = process.env, ...rest } = options;
  const { api, name, baseUrl, keyVariable, maxOutputTokens } = resolveModel(choice, options);
  const key = keyVariable === undefined ? undefined : environment[keyVariable];
  return ADAPTERS[api]({
    ...rest,
    name,
    ...(baseUrl !== undefined && { baseUrl }),
    ...(keyVariable !== undefined && { keyVariable }),
    ...(key !== undefined && key !== '' && { key: key.trim() }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  });
}
