import { expect, test, vi } from 'vitest';
import { definePrompt } from './prompt.ts';
import { PromptRegistry } from './registry.ts';

const prompt = (name: string) => definePrompt({ name }, () => name);

test('prompts are listed by name, in the same array until something changes', () => {
  const registry = new PromptRegistry().register(prompt('b'), prompt('a'));
  const listed = registry.list();
  expect(listed.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(registry.list()).toBe(listed);
  expect(Object.isFrozen(listed)).toBe(true);
  registry.remove('a');
  expect(registry.list().map(({ name }) => name)).toEqual(['b']);
});

test('a prompt is found by its name', () => {
  const review = prompt('review');
  const registry = new PromptRegistry().register(review);
  expect(registry.find('review')).toBe(review);
  expect(registry.find('other')).toBeUndefined();
  expect(registry.size).toBe(1);
});

test('a duplicate name is refused', () => {
  const registry = new PromptRegistry().register(prompt('a'));
  expect(() => registry.register(prompt('a'))).toThrow(
    'A prompt named "a" is registered already; rename it or remove() the other first.',
  );
});

test('watchers are notified of every change, and of nothing else', () => {
  const onChange = vi.fn<() => void>();
  const registry = new PromptRegistry(onChange).register(prompt('a'), prompt('b'));
  expect(() => registry.register(prompt('a'))).toThrow();
  expect(registry.remove('a')).toBe(true);
  expect(registry.remove('a')).toBe(false);
  expect(onChange).toHaveBeenCalledTimes(3);
});
