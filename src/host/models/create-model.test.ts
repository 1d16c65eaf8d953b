import { expect, test } from 'vitest';
import type { ModelChoice } from '../agent-config.ts';
import { createModel, type CreateModelOptions } from './create-model.ts';
import { resolveModel } from './resolve-model.ts';

function choice(changes: Partial<ModelChoice> = {}): ModelChoice {
  return {
    name: undefined,
    api: undefined,
    baseUrl: undefined,
    keyVariable: undefined,
    maxOutputTokens: undefined,
    ...changes,
  };
}

const none: CreateModelOptions = { environment: {} };

test.each([
  ['claude-sonnet-4-5', { api: 'anthropic-messages', keyVariable: 'ANTHROPIC_API_KEY', baseUrl: undefined }],
  ['gpt-5.4', { api: 'openai-responses', keyVariable: 'OPENAI_API_KEY', baseUrl: undefined }],
  ['o3', { api: 'openai-responses', keyVariable: 'OPENAI_API_KEY' }],
  ['anthropic/claude-opus-4-5', { name: 'claude-opus-4-5', api: 'anthropic-messages' }],
  ['ollama/qwen3:8b', { api: 'openai-chat', keyVariable: undefined, baseUrl: 'http://127.0.0.1:11434/v1' }],
])('the API of %s is known by the model name', (name, resolved) => {
  expect(resolveModel(choice({ name }), none)).toMatchObject(resolved);
});

test('behind a base URL any model name is accepted, and no key of the environment is sent without being named', () => {
  const baseUrl = 'https://models.example/v1';
  const options = { environment: { OPENAI_API_KEY: 'k' } };
  expect(resolveModel(choice({ name: 'qwen/qwen3', baseUrl }), options)).toEqual({
    name: 'qwen/qwen3',
    api: 'openai-chat',
    baseUrl,
    keyVariable: undefined,
    maxOutputTokens: undefined,
  });
  expect(resolveModel(choice({ name: 'm', baseUrl, keyVariable: 'MINE' }), options).keyVariable).toBe('MINE');
});

test("model names of other programs are taken from the user's map, else from the default", () => {
  const models = {
    sonnet: 'claude-sonnet-4-5',
    inherit: 'best',
    best: { name: 'm', baseUrl: 'http://127.0.0.1:8000/v1' },
  };
  expect(resolveModel(choice({ name: 'sonnet' }), { ...none, models }).name).toBe('claude-sonnet-4-5');
  expect(resolveModel(choice(), { ...none, models })).toMatchObject({
    name: 'm',
    baseUrl: 'http://127.0.0.1:8000/v1',
  });
  expect(resolveModel(choice({ name: 'opus' }), { ...none, default: 'gpt-5.4' }).name).toBe('gpt-5.4');
  expect(resolveModel(choice({ name: 'gemini-3-pro' }), { ...none, models, default: 'sonnet' }).name).toBe(
    'claude-sonnet-4-5',
  );
  expect(() => resolveModel(choice({ name: 'a' }), { ...none, models: { a: 'b', b: 'a' } })).toThrow(
    'in a circle',
  );
});

test.each([undefined, 'haiku', 'gemini-3-pro', 'nobody/knows'])(
  'a model that cannot be determined is an error that asks for it: %s',
  (name) => {
    expect(() => resolveModel(choice({ name }), none)).toThrow(
      expect.objectContaining({
        code: 'invalid_setup',
        message: expect.stringMatching(/which one.*--model/) as string,
      }),
    );
  },
);

test('base URLs in the environment apply to the model names of their providers', () => {
  const environment = { OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' };
  expect(resolveModel(choice({ name: 'gpt-5.4' }), { environment }).baseUrl).toBe('http://127.0.0.1:9/v1');
});

test('a model knows its capabilities', () => {
  expect(createModel(choice({ name: 'claude-sonnet-4-5' }), none)).toMatchObject({
    name: 'claude-sonnet-4-5',
    features: { deferral: true, images: true },
  });
  expect(createModel(choice({ name: 'ollama/llama3' }), none).features).toEqual({
    deferral: false,
    images: false,
  });
  expect(
    createModel(choice({ name: 'ollama/llama3' }), { ...none, features: { images: true } }).features.images,
  ).toBe(true);
});
