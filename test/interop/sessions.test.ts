import { describe, expect, onTestFinished, test } from 'vitest';
import { deferred } from '../behaviour/deferred.ts';
import { firstFew } from '../property-runs.ts';
import { handshakeKinds, openFixture } from './cells.ts';
import type { ConnectSdk, Hooks, SdkClient } from './clients.ts';
import { Inbox } from './inbox.ts';
import { layWire, type Wire } from './wire.ts';

interface Wired {
  readonly client: SdkClient;
  readonly wire: Wire;
  readonly url: string;
  /** Another client of the same server, whose connections are not cut. */
  readonly other: SdkClient;
}

async function connectByWire(connect: ConnectSdk, hooks: Hooks = {}): Promise<Wired> {
  const [wire, otherWire] = [await layWire(), await layWire()];
  const workshop = await openFixture('workshop', 'HTTP', {
    WORKSHOP_HOSTS: `${wire.host},${otherWire.host}`,
  });
  onTestFinished(() => workshop.close());
  const { url } = workshop.address as { url: string };
  const client = await connect({ url: wire.leadTo(url) }, hooks);
  onTestFinished(() => client.close());
  const other = await connect({ url: otherWire.leadTo(url) });
  onTestFinished(() => other.close());
  return { client, wire, url: otherWire.leadTo(url), other };
}

describe.each(firstFew(handshakeKinds, 1))('$kind over HTTP:', ({ connect }) => {
  test('gets the result of a call after its connection was cut', async () => {
    const statuses = new Inbox<number>();
    const hooks = { wentBack: (status: number) => statuses.put(status) };
    const { client, wire, other } = await connectByWire(connect, hooks);
    const underWay = deferred();
    const held = client.callTool('hold', {}, { onprogress: () => underWay.resolve() });
    await underWay.promise;
    wire.cut();
    await other.callTool('release');
    expect(await held).toMatchObject({ content: [{ text: 'held until the end' }], isError: false });
    expect(await statuses.next()).toBe(200);
  });

  test('gets the result of a call that closed its stream', async () => {
    const { client } = await connectByWire(connect);
    expect(await client.callTool('hang_up')).toMatchObject({
      content: [{ text: 'worth coming back for' }],
      isError: false,
    });
  });

  test('is notified after a reconnect of what changed while it was disconnected', async () => {
    const updates = new Inbox<string>();
    const lists = new Inbox<readonly string[]>();
    const { client, wire, other } = await connectByWire(connect, {
      resourceUpdated: (uri) => updates.put(uri),
      toolsChanged: (names) => lists.put(names),
    });
    await client.subscribe('note://today');
    await other.callTool('change_note', { text: 'second' });
    expect(await updates.next()).toBe('note://today');
    wire.cut();
    await other.callTool('add_tool');
    expect(await lists.next()).toContain('a_new_tool');
    expect(updates.count).toBe(1);
  });

  test('ends its session, which cannot be used afterwards', async () => {
    const { client, url } = await connectByWire(connect);
    const id = client.sessionId()!;
    const ping = (): Promise<Response> =>
      fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-session-id': id,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      });
    expect((await ping()).status).toBe(200);
    await client.endSession();
    expect(client.sessionId()).toBeUndefined();
    expect((await ping()).status).toBe(404);
  });

  test('gets an error when its session has ended', async () => {
    const { client, url } = await connectByWire(connect);
    await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': client.sessionId()! } });
    await expect(client.callTool('release')).rejects.toThrow(/no such session/);
  });

  test('reconnects once, without an error, to the stream of a call it cancelled', async () => {
    const statuses = new Inbox<number>();
    const complaints: string[] = [];
    const { client } = await connectByWire(connect, {
      wentBack: (status) => statuses.put(status),
      failed: (error) => complaints.push(error.message),
    });
    const controller = new AbortController();
    const options = { signal: controller.signal, onprogress: () => controller.abort() };
    await expect(client.callTool('hold', {}, options)).rejects.toThrow();
    expect(await statuses.next()).toBe(405);
    expect(complaints).toEqual([]);
  });
});
