import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../src/index.ts';
import { firstFew } from '../property-runs.ts';
import { within } from '../within.ts';
import { cells, openCell, type OpenCell } from './cells.ts';

const textOf = (result: unknown): string => (result as { contents: [{ text: string }] }).contents[0].text;
const namesOf = (list: readonly object[]): readonly string[] =>
  list.map((item) => (item as { name: string }).name).toSorted();

describe.each(firstFew(cells, 3))('on $version over $transport', (cell) => {
  let opened: OpenCell;
  let client: Client;

  beforeAll(async () => {
    opened = await openCell(cell, 'library.mjs', { logLevel: 'info' });
    ({ client } = opened);
  });
  afterAll(() => opened.close());

  /** Does something until it is announced: the stream for changes may not be open yet. */
  async function untilTold(
    event: 'resourcesChanged' | 'promptsChanged' | 'resourceUpdated',
    tool: string,
  ): Promise<unknown> {
    const told: unknown[] = [];
    const stop = client.on(event, (what) => told.push(what));
    const repeat = async (): Promise<void> => {
      while (told.length === 0) await client.callTool(tool);
    };
    await within(5_000, event, repeat());
    stop();
    return told[0];
  }

  test('lists of several pages arrive whole', async () => {
    expect(namesOf(await client.listTools())).toEqual([
      'add_note',
      'add_prompt',
      'go',
      'say',
      'stay',
      'touch',
    ]);
    expect(namesOf(await client.listResources())).toEqual(['five', 'four', 'one', 'three', 'two']);
    expect(namesOf(await client.listPrompts())).toEqual(['one', 'three', 'two']);
    expect(await client.listResourceTemplates()).toMatchObject([{ uriTemplate: 'colour://{name}' }]);
  });

  test('resources are read, those of templates too, and one that is missing is an error', async () => {
    expect(textOf(await client.readResource('note://two'))).toBe('It says two.');
    expect(textOf(await client.readResource('colour://red'))).toBe('It is red.');
    await expect(client.readResource('note://none')).rejects.toMatchObject({ name: 'RemoteError' });
  });

  test('prompts arrive filled in, and a missing argument is an error', async () => {
    const prompt = await client.getPrompt('one', { what: 'code' });
    expect(prompt).toMatchObject({ messages: [{ role: 'user', content: { text: 'Review code.' } }] });
    await expect(client.getPrompt('one')).rejects.toMatchObject({ code: 'invalid_params' });
  });

  test('arguments of prompts and variables of templates are completed', async () => {
    const ofPrompt = await client.complete({ prompt: 'one', argument: 'what', value: 'gre' });
    expect(ofPrompt.values).toEqual(['green', 'grey']);
    const ofTemplate = await client.complete({ template: 'colour://{name}', argument: 'name', value: '' });
    expect(ofTemplate.values).toEqual(['red', 'green', 'grey']);
  });

  test('log messages arrive from the level on that was asked for', async () => {
    const heard: unknown[] = [];
    const stop = client.on('log', (entry) => heard.push(entry));
    expect(await client.callTool('say').text()).toBe('said');
    await expect.poll(() => heard, { timeout: 5_000 }).toHaveLength(1);
    expect(heard).toEqual([{ level: 'warning', data: { left: 3 }, logger: 'library' }]);
    stop();
  });

  test('an update of a resource that is followed is announced', async () => {
    await client.subscribe('note://one');
    expect(await untilTold('resourceUpdated', 'touch')).toEqual({ uri: 'note://one' });
    await client.unsubscribe('note://one');
  });

  test('changes of resources and prompts are announced, and the lists have them', async () => {
    const [notes, prompts] = [await client.listResources(), await client.listPrompts()];
    await untilTold('resourcesChanged', 'add_note');
    await untilTold('promptsChanged', 'add_prompt');
    expect((await client.listResources()).length).toBeGreaterThan(notes.length);
    expect((await client.listPrompts()).length).toBeGreaterThan(prompts.length);
  });
});
