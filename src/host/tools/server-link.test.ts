import { getEventListeners } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { makeUp } from '../../../test/client/peers.ts';
import { serverOf } from '../../../test/host/agents.ts';
import { within } from '../../../test/within.ts';
import { systemClock } from '../../base/clock.ts';
import { nothing } from '../../base/awaitable.ts';
import { ServerLink } from './server-link.ts';

const UNAVAILABLE = { code: 'upstream_unavailable' };

test('a call that was cancelled does not wait for a server that is being connected to', async () => {
  const link = await connectingLink();
  const ready = link.ready(AbortSignal.abort());
  await expect(within(2_000, 'the refusal', ready)).rejects.toMatchObject(UNAVAILABLE);
});

test('a call that is cancelled while its server is being connected to ends, and leaves nothing at the signal', async () => {
  const link = await connectingLink();
  const controller = new AbortController();
  const ready = link.ready(controller.signal);
  controller.abort();
  await expect(within(2_000, 'the refusal', ready)).rejects.toMatchObject(UNAVAILABLE);
});

test('a server that was waited for leaves nothing at the signal', async () => {
  const link = await connectingLink();
  const { signal } = new AbortController();
  const ready = link.ready(signal);
  await link.close();
  await expect(within(2_000, 'the refusal', ready)).rejects.toMatchObject(UNAVAILABLE);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

async function connectingLink(): Promise<ServerLink> {
  // It takes requests, and answers none.
  const { url } = await makeUp(() => true);
  const link = new ServerLink('slow', serverOf({ url }), {
    clock: systemClock,
    connection: {},
    redact: (text) => text,
    listener: { onState: nothing, onTools: nothing, onWarning: nothing },
  });
  onTestFinished(() => link.close());
  void link.start();
  return link;
}
