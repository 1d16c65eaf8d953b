import { expect, onTestFinished, test, vi } from 'vitest';
import {
  connect,
  defineResource,
  defineTool,
  ToolRegistry,
  type Caller,
  type Client,
} from '../../src/index.ts';
import type { Change } from '../../src/core/source.ts';
import type { Head } from '../../src/server/http/endpoint.ts';
import { serve } from '../client/peers.ts';
import { everythingForStaff, openCrib, type Crib, type Holder } from '../gateway.ts';
import { within } from '../within.ts';

const plain = (name: string) => defineTool({ name, description: `Is ${name}.` }, () => name);
const note = (uri: string) => defineResource({ uri, name: uri }, () => 'content');

/** A server whose source tells what is followed, and by whom. */
function followedServer(): { registry: ToolRegistry; followed: string[]; left: string[] } {
  const followed: string[] = [];
  const left: string[] = [];
  const registry = new ToolRegistry().registerTool(plain('here')).registerResource(note('note://a'));
  const follow = (uri: string, caller: Caller): (() => void) => {
    followed.push(`${caller.id} ${uri}`);
    return () => void left.push(`${caller.id} ${uri}`);
  };
  return { registry: Object.assign(registry, { follow }), followed, left };
}

async function clientOf(crib: Crib, holder: Holder, protocol: 'modern' | 'legacy'): Promise<Client> {
  const client = await connect(crib.url, {
    protocol,
    headers: { authorization: `Bearer ${crib.keys[holder]}` },
  });
  onTestFinished(() => client.close());
  return client;
}

function updatesOf(client: Client): string[] {
  const heard: string[] = [];
  client.on('resourceUpdated', ({ uri }) => heard.push(uri));
  return heard;
}

const soon = { timeout: 10_000, interval: 10 };

test.each(['modern', 'legacy'] as const)(
  'a resource that several %s clients subscribe to is subscribed to once at its server, until the last one leaves',
  async (protocol) => {
    const { registry, followed, left } = followedServer();
    const other = new ToolRegistry().registerTool(plain('there')).registerResource(note('note://a'));
    const crib = await openCrib({
      config: {
        mcpServers: { one: { url: await serve(registry) }, two: { url: await serve(other) } },
        access: [everythingForStaff],
      },
    });
    const [ada, bob] = [await clientOf(crib, 'ada', protocol), await clientOf(crib, 'bob', protocol)];
    const [hers, his] = [updatesOf(ada), updatesOf(bob)];
    expect((await ada.listResources()).map(({ uri }) => uri)).toEqual(['note://one/a', 'note://two/a']);
    await ada.subscribe('note://one/a');
    await bob.subscribe('note://one/a');
    await vi.waitFor(() => expect(followed).toEqual(['local note://a']), soon);
    await vi.waitFor(() => {
      registry.resourceUpdated('note://a');
      other.resourceUpdated('note://a');
      expect(new Set([...hers, ...his])).toEqual(new Set(['note://one/a']));
      expect(hers.length && his.length).toBeGreaterThan(0);
    }, soon);
    await ada.unsubscribe('note://one/a');
    await bob.unsubscribe('note://one/a');
    await vi.waitFor(() => expect(left).toEqual(['local note://a']), soon);
    expect(followed).toHaveLength(1);
  },
);

test('a resource is followed over the newer connection once the old one is replaced', async () => {
  const { registry, followed, left } = followedServer();
  const crib = await openCrib({
    config: {
      mcpServers: { one: { url: await serve(registry), protocol: '2025-11-25', lifetimeSeconds: 1 } },
      access: [everythingForStaff],
    },
  });
  const ada = await clientOf(crib, 'ada', 'modern');
  const heard = updatesOf(ada);
  await ada.subscribe('note://a');
  await vi.waitFor(() => expect(followed.length).toBeGreaterThan(1), soon);
  await vi.waitFor(() => expect(left.length).toBeGreaterThan(0), soon);
  await vi.waitFor(() => {
    registry.resourceUpdated('note://a');
    expect(heard.length).toBeGreaterThan(0);
  }, soon);
});

test('an update that came for one account is sent to its tenant only', async () => {
  const { registry, followed } = followedServer();
  const listeners = new Set<(change: Change) => void>();
  const watch = (listener: (change: Change) => void): (() => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const authenticate = ({ headers }: Head): Caller => ({
    id: String(headers['authorization']),
    tenant: { id: 'all', name: '', data: {} },
    scopes: [],
    roles: [],
  });
  const url = await serve(Object.assign(registry, { watch }), { authenticate });
  const byTenant = { north: { bearer: 'token-of-north' }, south: { bearer: 'token-of-south' } };
  const crib = await openCrib({
    config: { mcpServers: { web: { url, credential: { byTenant } } }, access: [everythingForStaff] },
  });
  const [ada, cyn] = [await clientOf(crib, 'ada', 'modern'), await clientOf(crib, 'cyn', 'modern')];
  const [hers, others] = [updatesOf(ada), updatesOf(cyn)];
  await ada.subscribe('note://a');
  await cyn.subscribe('note://a');
  const tell = (account: string): void => {
    for (const listener of listeners)
      listener({
        kind: 'resource',
        uri: 'note://a',
        concerns: (_found, caller) => caller.id === `Bearer token-of-${account}`,
      });
  };
  // Both are followed at the server now, each with its own account.
  await vi.waitFor(() => expect(followed).toHaveLength(2), soon);
  tell('north');
  await vi.waitFor(() => expect(hers).toEqual(['note://a']), soon);
  tell('south');
  await vi.waitFor(() => expect(others.length).toBeGreaterThan(0), soon);
  expect(others).toEqual(['note://a']);
  expect(hers).toEqual(['note://a']);
});

test('a change at a server is announced only to callers who can see it', async () => {
  const registry = new ToolRegistry().registerTool(plain('open'));
  const crib = await openCrib({
    config: {
      // Tools that come later are shown at once.
      mcpServers: { web: { url: await serve(registry), pin: 'off' } },
      access: [everythingForStaff, { roles: ['guest'], tools: ['web.open*'] }],
    },
  });
  const [ada, guest] = [await clientOf(crib, 'ada', 'legacy'), await clientOf(crib, 'guest', 'legacy')];
  const heard: string[] = [];
  ada.on('toolsChanged', () => heard.push('ada'));
  guest.on('toolsChanged', () => heard.push('guest'));
  await Promise.all([ada.listTools(), guest.listTools()]);
  registry.registerTool(plain('hidden'));
  await within(
    10_000,
    'the change to be heard',
    vi.waitFor(() => expect(heard).toEqual(['ada']), soon),
  );
  registry.registerTool(plain('open_too'));
  await within(
    10_000,
    'both to hear',
    vi.waitFor(() => expect(heard.toSorted()).toEqual(['ada', 'ada', 'guest']), soon),
  );
});
