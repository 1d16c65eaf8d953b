import { expect, test, vi } from 'vitest';
import { definePrompt } from '../prompts/prompt.ts';
import { PromptRegistry } from '../prompts/registry.ts';
import { defineResource, defineResourceTemplate } from './resource.ts';
import { ResourceRegistry } from './registry.ts';

const resource = (uri: string) => defineResource({ uri, name: uri }, () => uri);
const template = (uriTemplate: string) =>
  defineResourceTemplate({ uriTemplate, name: uriTemplate }, () => '');

test('resources and prompts live in registries of the same design (000-42)', () => {
  const told = vi.fn<(kind: string) => void>();
  const resources = new ResourceRegistry(() => told('resources')).register(resource('note://a'));
  const prompts = new PromptRegistry(() => told('prompts')).register(definePrompt({ name: 'a' }, () => ''));
  for (const registry of [resources, prompts]) {
    expect(registry.size).toBe(1);
    expect(registry.list()).toBe(registry.list());
  }
  // An application reads what an address leads to; a user picks a name. Neither is offered to the model as a tool.
  expect(resources.find('note://a')?.resource).toMatchObject({ uri: 'note://a' });
  expect(prompts.find('a')).toMatchObject({ name: 'a' });
  expect([resources.remove('note://a'), prompts.remove('a')]).toEqual([true, true]);
  expect(told.mock.calls.flat()).toEqual(['resources', 'prompts', 'resources', 'prompts']);
});

test('resources and templates are listed by address, in the same array until something changes', () => {
  const registry = new ResourceRegistry().register(
    resource('x:b'),
    template('x:{b}'),
    resource('x:a'),
    template('x:a{?a}'),
  );
  const listed = registry.list();
  const templates = registry.templates();
  expect(listed.map(({ uri }) => uri)).toEqual(['x:a', 'x:b']);
  expect(templates.map(({ uriTemplate }) => uriTemplate)).toEqual(['x:a{?a}', 'x:{b}']);
  expect([registry.list(), registry.templates()]).toEqual([listed, templates]);
  expect(registry.list()).toBe(listed);
  expect(registry.templates()).toBe(templates);
  expect([Object.isFrozen(listed), Object.isFrozen(templates)]).toEqual([true, true]);
  registry.remove('x:a');
  expect(registry.list()).not.toBe(listed);
});

test('a resource wins over a template that also matches', () => {
  const inbox = resource('note://inbox');
  const registry = new ResourceRegistry().register(template('note://{id}'), inbox);
  expect(registry.find('note://inbox')).toEqual({ resource: inbox, variables: {} });
});

test('of several matching templates the first registered wins', () => {
  const wide = template('note://{+path}');
  const narrow = template('note://{id}');
  const registry = new ResourceRegistry().register(narrow, wide);
  expect(registry.find('note://1')).toEqual({ resource: narrow, variables: { id: '1' } });
  expect(registry.find('note://1/2')).toEqual({ resource: wide, variables: { path: '1/2' } });
  expect(registry.find('file:///1')).toBeUndefined();
});

test('a duplicate address is refused', () => {
  const registry = new ResourceRegistry().register(resource('x:a'), template('x:{a}'));
  expect(() => registry.register(resource('x:a'))).toThrow('A resource at "x:a" is registered already');
  expect(() => registry.register(template('x:{a}'))).toThrow('A resource at "x:{a}" is registered already');
});

test('watchers are notified of every change, and of nothing else', () => {
  const onChange = vi.fn<() => void>();
  const registry = new ResourceRegistry(onChange).register(resource('x:a'), template('x:{a}'));
  expect(() => registry.register(resource('x:a'))).toThrow();
  expect([registry.remove('x:{a}'), registry.remove('x:{a}'), registry.remove('x:a')]).toEqual([
    true,
    false,
    true,
  ]);
  expect(onChange).toHaveBeenCalledTimes(4);
  expect(registry.size).toBe(0);
});
