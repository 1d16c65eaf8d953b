import { expect, test } from 'vitest';
import { defineResourceTemplate, ToolRegistry } from '../../src/index.ts';
import type { Peer } from '../behaviour/peer.ts';
import { serve } from '../client/peers.ts';
import { everythingForStaff, openCrib } from '../gateway.ts';
import { within } from '../within.ts';
import { scripted } from './upstream-programs.ts';

// Longer than any test waits: nothing may take as long as lists are waited for.
const FIRST_LIST_SECONDS = 60;

/** A gateway in front of a server that has stopped to list in the middle of a change, and of one that has notes. */
async function openStalled(): Promise<Peer> {
  const notes = new ToolRegistry().registerResource(
    defineResourceTemplate({ uriTemplate: 'note://{id}', name: 'note' }, ({ id }) => `note ${id}`),
  );
  const crib = await openCrib({
    config: {
      mcpServers: { slow: scripted('stalling', { timeoutSeconds: 1 }), notes: { url: await serve(notes) } },
      upstreams: { firstListSeconds: FIRST_LIST_SECONDS },
      access: [everythingForStaff],
    },
  });
  const ada = await crib.connect('ada');
  expect(await textAt(ada, 'note://1')).toBe('note 1');
  expect((await ada.call('work')).content).toMatchObject([{ text: 'worked 1 times' }]);
  expect((await ada.call('stall')).content).toMatchObject([{ text: 'stalled' }]);
  return ada;
}

async function textAt(peer: Peer, uri: string): Promise<unknown> {
  const { contents } = await peer.result('resources/read', { uri });
  return (contents as { text: string }[])[0]!.text;
}

test('a server that hangs while it lists again delays no read of what a template of another one has', async () => {
  const ada = await openStalled();
  expect(await within(10_000, 'the note', textAt(ada, 'note://2'))).toBe('note 2');
});

test('a call to a server that hangs while it lists again ends in its own time, and is not sent', async () => {
  const ada = await openStalled();
  for (let round = 0; round < 2; round++)
    expect((await within(10_000, 'the call', ada.call('work'))).content).toMatchObject([
      { text: 'slow did not answer in time.' },
    ]);
  expect(await within(10_000, 'the count', textAt(ada, 'count://work'))).toBe('1');
});
