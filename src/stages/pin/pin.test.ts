import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { poisonedDescriptions } from '../../../test/security/poisoned-definitions.ts';
import { systemClock } from '../../base/clock.ts';
import { localCaller } from '../../core/caller.ts';
import { createInMemory } from '../../core/memory/in-memory.ts';
import { merge } from '../../core/merge.ts';
import { ToolRegistry } from '../../core/registry.ts';
import type { ToolSource } from '../../core/source.ts';
import { withStages } from '../../core/stage.ts';
import { changeTool, defineTool, fromListed, type ListedTool, type Tool } from '../../core/tool.ts';
import { createServer } from '../../server/create-server.ts';
import { createInMemoryStore, type InMemoryStore } from '../../store/memory/store.ts';
import type { Pins } from '../../store/pin.ts';
import { createFakeClock, createTestClient } from '../../testing.ts';
import { pin, type PinMode } from './pin.ts';
import { PinBook } from './pin-book.ts';

const search: ListedTool = {
  name: 'search',
  title: 'Search',
  description: 'Searches the catalogue.',
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string' },
      order: { type: 'string', enum: ['new', 'old'], default: 'new' },
    },
  },
  annotations: { readOnlyHint: true },
};
const fetchPage: ListedTool = { ...search, name: 'fetch', description: 'Fetches a page.' };

describe('pin', () => {
  const changes: readonly [string, Partial<ListedTool>][] = [
    ['the description, by one zero-width character', { description: 'Searches the catalogue.\u200b' }],
    ['a default in the schema', { inputSchema: withOrder({ enum: ['new', 'old'], default: 'old' }) }],
    ['the order of an enum', { inputSchema: withOrder({ enum: ['old', 'new'], default: 'new' }) }],
    ['an annotation', { annotations: { readOnlyHint: true, openWorldHint: false } }],
    ['the title', { title: 'Search!' }],
    ['a field this version does not know', { execution: { taskSupport: 'optional' } }],
    ['what it returns', { outputSchema: { type: 'object' } }],
    ['its icons', { icons: [{ src: 'https://a.example/i.png' }] }],
    ['its _meta', { _meta: { a: 1 } }],
  ];

  test.each(changes)(
    'C4 %s: the tool is refused on the next call, other tools work, and the old definition is accepted again',
    async (_what, change) => {
      const { upstream, source, held } = stand();
      expect(await callable(source)).toEqual(['fetch', 'search']);
      upstream.offer({ ...search, ...change }, fetchPage);
      expect(await source.find('search', localCaller)).toBeUndefined();
      expect(await callable(source)).toEqual(['fetch']);
      expect(held()).toEqual([{ did: 'changed tool held', server: 'web', tool: 'search' }]);
      upstream.offer(search, fetchPage);
      expect(await callable(source)).toEqual(['fetch', 'search']);
      expect(held()).toHaveLength(1);
    },
  );

  test('C4 control: without the stage a changed tool is called', async () => {
    const { upstream, source } = stand('off');
    await callable(source);
    upstream.offer({ ...search, description: 'Searches the catalogue.\u200b' });
    expect(await callable(source)).toEqual(['search']);
  });

  test('C4 a removed tool is unknown, and is accepted when it returns unchanged', async () => {
    const { upstream, source, held } = stand();
    await callable(source);
    upstream.offer(fetchPage);
    expect(await callable(source)).toEqual(['fetch']);
    upstream.offer(fetchPage, { ...search });
    expect(await callable(source)).toEqual(['fetch', 'search']);
    upstream.offer(fetchPage);
    upstream.offer(fetchPage, { ...search, title: 'Other' });
    expect(await callable(source)).toEqual(['fetch']);
    expect(held()).toHaveLength(1);
  });

  test('C4 an added tool is held in approval mode, and so is a tool under a new name', async () => {
    const { upstream, source, held, store } = stand('approve', [search]);
    expect(await callable(source)).toEqual([]);
    await approveAll(store);
    expect(await callable(source)).toEqual(['search']);
    upstream.offer(search, fetchPage);
    expect(await callable(source)).toEqual(['search']);
    upstream.offer({ ...search, name: 'find' }, fetchPage);
    expect(await callable(source)).toEqual([]);
    expect(held().map(({ did, tool }) => [did, tool])).toEqual([
      ['new tool held', 'search'],
      ['new tool held', 'fetch'],
      ['new tool held', 'find'],
    ]);
  });

  test('C4 a tool that appears after the first listing is held, also after a restart and for a single call', async () => {
    const { upstream, source, held, store, log } = stand('first-use', [search]);
    expect(await source.find('search', localCaller)).toBeDefined();
    upstream.offer(search, fetchPage);
    expect(await source.find('fetch', localCaller)).toBeUndefined();
    expect(await callable(source)).toEqual(['search']);
    expect(held()).toEqual([{ did: 'new tool held', server: 'web', tool: 'fetch' }]);
    const restarted = withStages(merge({ web: upstream.source }, { prefix: 'never' }), [
      pin({}, { book: new PinBook({ pins: store.pins, log }) }),
    ]);
    expect(await restarted.find('fetch', localCaller)).toBeUndefined();
    expect(await callable(restarted)).toEqual(['search']);
    await approveAll(store);
    await vi.waitFor(async () => expect(await callable(restarted)).toEqual(['fetch', 'search']));
  });

  test('C4 the first call pins the whole first listing, so that nothing of it is new later', async () => {
    const { source, held } = stand('first-use', [search, fetchPage]);
    const [found] = await Promise.all([
      source.find('search', localCaller),
      source.find('fetch', localCaller),
      source.list(localCaller),
    ]);
    expect(found).toBeDefined();
    expect(await callable(source)).toEqual(['fetch', 'search']);
    expect(held()).toEqual([]);
  });

  test('C4 control: a tool that the operator listed by name may appear later, and is pinned then', async () => {
    const { upstream, book, held } = stand('first-use', [search]);
    const source = withStages(merge({ web: upstream.source }, { prefix: 'never' }), [
      pin({}, { book, named: { web: ['fetch'] } }),
    ]);
    expect(await callable(source)).toEqual(['search']);
    upstream.offer(search, fetchPage, { ...search, name: 'find' });
    expect(await callable(source)).toEqual(['fetch', 'search']);
    expect(held()).toEqual([{ did: 'new tool held', server: 'web', tool: 'find' }]);
    upstream.offer(search, { ...fetchPage, title: 'Other' });
    expect(await callable(source)).toEqual(['search']);
  });

  test('the first listing of a server that lists nothing at first is the first one with tools', async () => {
    const { upstream, source } = stand('first-use', []);
    expect(await callable(source)).toEqual([]);
    upstream.offer(search, fetchPage);
    expect(await callable(source)).toEqual(['fetch', 'search']);
  });

  test('C4 a first listing is pinned completely or not at all', async () => {
    const { store, log } = stand();
    const pins: Pins = {
      list: () => store.pins.list(),
      changed: (after) => store.pins.changed(after),
      pinListing: () => Promise.reject(new Error('disk')),
      pinFirst: (place, seen) => store.pins.pinFirst(place, seen),
      pinApproved: (place, digest) => store.pins.pinApproved(place, digest),
      hold: (place, seen, row) => store.pins.hold(place, seen, row),
      approve: (place, approval, row) => store.pins.approve(place, approval, row),
      dismiss: (place, digest, row) => store.pins.dismiss(place, digest, row),
      watch: (listener) => store.pins.watch(listener),
    };
    const source = withStages(merge({ web: upstreamOf(search, fetchPage).source }, { prefix: 'never' }), [
      pin({}, { book: new PinBook({ pins, log }) }),
    ]);
    expect(await callable(source)).toEqual([]);
    expect(await store.pins.list()).toEqual([]);
    pins.pinListing = (lister, listing) => store.pins.pinListing(lister, listing);
    expect(await callable(source)).toEqual(['fetch', 'search']);
  });

  test('a dismissed definition is no longer listed, and is held again if the server still has it', async () => {
    const { upstream, source, store, clock } = stand('first-use', [search]);
    await callable(source);
    upstream.offer({ ...search, title: 'Other' }, fetchPage);
    expect(await callable(source)).toEqual([]);
    upstream.offer(search, fetchPage);
    expect(await callable(source)).toEqual(['search']);
    const waiting = async () => (await store.pins.list()).filter(({ held }) => held).map(({ tool }) => tool);
    expect(await waiting()).toEqual(['fetch', 'search']);
    for (const { held, ...place } of await store.pins.list())
      await store.pins.dismiss(place, held!.digest, { chain: '@operator', body: '{"did":"dismissed"}' });
    expect(await store.pins.list()).toMatchObject([{ tool: 'search', held: undefined }]);
    clock.advance(10_000);
    await vi.waitFor(async () => {
      expect(await callable(source)).toEqual(['search']);
      expect(await waiting()).toEqual(['fetch']);
    });
  });

  test('at most 5,000 tools of a server are pinned, and further tools are held', async () => {
    const many = Array.from({ length: 5_003 }, (_, n) => ({ ...search, name: `t${n}` }));
    const { source, store, lines } = stand('first-use', many);
    expect(await source.list(localCaller)).toHaveLength(5_000);
    expect(await store.pins.list()).toHaveLength(5_000);
    expect(await source.find('t999', localCaller)).toBeUndefined();
    expect(lines.map(({ message }) => message)).toEqual([
      'A tool of web is held and cannot be approved: it has more than 5000 tools.',
    ]);
  });

  test('a held tool gets the response of an unknown tool', async () => {
    const { source } = stand('approve');
    const client = createTestClient(createServer({ source }));
    expect(await client.listTools()).toEqual([]);
    const [hidden, absent] = await Promise.all(
      ['search', 'absent'].map((name) => client.callTool(name).catch((error: unknown) => error)),
    );
    expect(String(hidden)).toBe(String(absent).replace('absent', 'search'));
  });

  test('an approved definition is served without a restart, and subscribers are notified', async () => {
    const { upstream, source, store } = stand();
    await callable(source);
    upstream.offer({ ...search, title: 'New' }, fetchPage);
    expect(await callable(source)).toEqual(['fetch']);
    const told = vi.fn();
    source.watch!(told);
    await approveAll(store);
    await vi.waitFor(() => expect(told).toHaveBeenCalled());
    expect(await callable(source)).toEqual(['fetch', 'search']);
    upstream.offer(search, fetchPage);
    expect(await callable(source)).toEqual(['fetch']);
  });

  test('the name that the operator gives a tool is not part of its definition', async () => {
    const { upstream, book } = stand();
    for (const prefix of ['never', 'always', 'collisions'] as const) {
      const own = new ToolRegistry().registerTool(
        defineTool({ name: 'search', description: 'Own.' }, () => 1),
      );
      const named = merge({ web: upstream.source }, { prefix, ...(prefix === 'collisions' && { own }) });
      expect((await withStages(named, [pin({}, { book })]).list(localCaller)).length).toBeGreaterThan(1);
    }
    upstream.offer({ ...search, title: 'New' });
    const renamed = withStages(merge({ web: upstream.source }), [pin({}, { book })]);
    expect(await renamed.list(localCaller)).toEqual([]);
  });

  test('the description that the operator gives a tool is not part of its definition, and does not hide a change of it', async () => {
    const { upstream, source, book } = stand();
    const described = (text: string): ToolSource => {
      const shown = new WeakMap<Tool, Tool>();
      const show = (tool: Tool): Tool => {
        if (!shown.has(tool))
          shown.set(tool, changeTool(tool, { description: text, assumedHints: ['readOnlyHint'] }));
        return shown.get(tool)!;
      };
      const web: ToolSource = {
        ...upstream.source,
        list: async (caller) => (await upstream.source.list(caller)).map(show),
        find: async (name, caller) => {
          const tool = await upstream.source.find(name, caller);
          return tool && show(tool);
        },
      };
      return withStages(merge({ web }, { prefix: 'never' }), [pin({}, { book })]);
    };
    expect(await callable(source)).toEqual(['fetch', 'search']);
    expect(await callable(described('Ours.'))).toEqual(['fetch', 'search']);
    upstream.offer({ ...search, description: 'Changed under our words.' }, fetchPage);
    expect(await callable(described('Ours.'))).toEqual(['fetch']);
  });

  test('tools of this process are never pinned', async () => {
    const { book, store } = stand();
    const registry = new ToolRegistry().registerTool(
      defineTool({ name: 'own', description: 'Own.' }, () => 1),
    );
    const source = withStages(registry, [pin({ mode: 'approve' }, { book })]);
    expect(await callable(source)).toEqual(['own']);
    expect(await store.pins.list()).toEqual([]);
  });

  test('each server has its own mode', async () => {
    const { book } = stand();
    const part = upstreamOf(search).source;
    const source = withStages(merge({ strict: part, free: part, usual: part }), [
      pin({ mode: 'first-use' }, { book, modes: { strict: 'approve', free: 'off', usual: undefined } }),
    ]);
    expect(await callable(source)).toEqual(['free__search', 'usual__search']);
  });

  test('a repeated change is recorded once, and endless changes are recorded at intervals', async () => {
    const { upstream, source, held, clock, store } = stand();
    await callable(source);
    for (let n = 0; n < 20; n++) {
      upstream.offer({ ...search, title: `T${n}` });
      expect(await callable(source)).toEqual([]);
    }
    expect(held()).toHaveLength(1);
    clock.advance(10_000);
    expect(await callable(source)).toEqual([]);
    expect(held()).toHaveLength(2);
    expect((await store.pins.list()).find(({ tool }) => tool === 'search')?.held?.definition).toContain(
      'T19',
    );
  });

  test('C4 of two simultaneous definitions only one is used, whoever asks first', async () => {
    const { store, log } = stand();
    const other = { ...search, title: 'Other' };
    const sources = [search, other].map((listed) =>
      withStages(merge({ web: upstreamOf(listed).source }), [
        pin({}, { book: new PinBook({ pins: store.pins, log }) }),
      ]),
    );
    const lists = await Promise.all(sources.map((source) => callable(source)));
    expect(lists.flat()).toHaveLength(1);
    expect(await Promise.all(sources.map((source) => callable(source)))).toEqual(lists);
  });

  test('tools are held while pins cannot be read or written', async () => {
    const { store, log } = stand();
    const disk = (): Promise<never> => Promise.reject(new Error('disk'));
    const pins: Pins = {
      list: () => store.pins.list(),
      changed: disk,
      pinListing: disk,
      pinFirst: disk,
      dismiss: disk,
      pinApproved: disk,
      hold: disk,
      approve: disk,
      watch: () => () => {},
    };
    const source = withStages(merge({ web: upstreamOf(search).source }), [
      pin({}, { book: new PinBook({ pins, log }) }),
    ]);
    expect(await callable(source)).toEqual([]);
    pins.changed = () => [];
    expect(await callable(source)).toEqual([]);
    pins.pinListing = (lister, listing) => store.pins.pinListing(lister, listing);
    expect(await callable(source)).toEqual([]);
    pins.changed = (after) => store.pins.changed(after);
    expect(await callable(source)).toEqual(['web__search']);
  });

  test('the log names the command to run, and no name with a meaning for a shell', async () => {
    const { source, lines } = stand('approve', [search, { ...search, name: 'x; rm -rf ~' }]);
    await callable(source);
    expect(lines.map(({ message }) => message)).toEqual([
      'A new tool is held; see: toolcrib pins diff web.search',
      'A new tool is held; see: toolcrib pins diff web',
    ]);
  });

  test('a server with too many or too large tools does not fill the disk', async () => {
    const huge = { ...search, name: 'huge', description: 'x'.repeat(300_000) };
    const { source, store, lines } = stand('first-use', [huge]);
    expect(await callable(source)).toEqual([]);
    expect(await store.pins.list()).toEqual([]);
    expect(lines[0]!.message).toContain('cannot be approved');
  });

  test('any change of any definition is held, and nothing else is', () => {
    const definitions = fc.record({ title: fc.string(), _meta: fc.dictionary(fc.string(), fc.jsonValue()) });
    return fc.assert(
      fc.asyncProperty(definitions, definitions, async (one, two) => {
        const { upstream, source } = stand('first-use', [{ ...search, ...one }]);
        expect(await callable(source)).toEqual(['search']);
        upstream.offer({ ...search, ...two });
        const isSame = JSON.stringify(sorted(one)) === JSON.stringify(sorted(two));
        expect(await callable(source)).toEqual(isSame ? ['search'] : []);
        upstream.offer({ ...search, ...(structuredClone(one) as object) });
        expect(await callable(source)).toEqual(['search']);
      }),
      { numRuns: propertyRuns(200) },
    );
  });

  test('C3 every one of 200 poisoned definitions is held before any client can list it', async () => {
    const { upstream, source } = stand('approve', [search]);
    for (const listed of poisonedDescriptions()) {
      upstream.offer(listed);
      expect(await callable(source)).toEqual([]);
    }
  });
});

interface Upstream {
  readonly source: ToolSource;
  offer(...listed: readonly ListedTool[]): void;
}

// Every reading of a list makes new tools, as a client does.
function upstreamOf(...first: readonly ListedTool[]): Upstream {
  const make = (listed: readonly ListedTool[]) => listed.map((one) => fromListed(one, () => 'done'));
  let tools = make(first);
  return {
    offer: (...listed) => void (tools = make(listed)),
    source: {
      list: () => tools,
      find: (name) => tools.find((tool) => tool.name === name),
      call: ({ kind }) => ({ kind: 'done', content: [{ type: 'text', text: kind }] }),
      watch: () => () => {},
    },
  };
}

function stand(mode: PinMode = 'first-use', listed: readonly ListedTool[] = [search, fetchPage]) {
  const clock = createFakeClock();
  const store = createInMemoryStore({ clock, memory: createInMemory(systemClock) });
  const lines: { message: string }[] = [];
  const log = (_level: string, message: string): void => void lines.push({ message });
  const book = new PinBook({ pins: store.pins, log, clock });
  const upstream = upstreamOf(...listed);
  const source = withStages(merge({ web: upstream.source }, { prefix: 'never' }), [pin({ mode }, { book })]);
  const held = () =>
    store.entries.flatMap(({ body }) => {
      const { did, server, tool } = JSON.parse(body) as Record<string, string>;
      return server === undefined ? [] : [{ did, server, tool }];
    });
  return { upstream, source, store, book, clock, held, lines, log };
}

async function approveAll({ pins }: InMemoryStore): Promise<void> {
  for (const { held, ...place } of await pins.list()) {
    const row = { chain: '@operator', body: JSON.stringify({ did: 'approved' }) };
    if (held) await pins.approve(place, { digest: held.digest, by: 'ada', at: 1 }, row);
  }
}

// What is listed and what is found must be the same.
async function callable(source: ToolSource): Promise<readonly string[]> {
  const names = (await source.list(localCaller)).map(({ name }) => name);
  const client = createTestClient(createServer({ source }));
  for (const name of names) expect((await client.callTool(name)).isError).toBe(false);
  for (const name of ['search', 'fetch', 'find'])
    expect((await source.find(name, localCaller)) !== undefined).toBe(names.includes(name));
  return names;
}

function withOrder(order: object): ListedTool['inputSchema'] {
  const { properties } = search.inputSchema as { properties: object };
  return { type: 'object', properties: { ...properties, order: { type: 'string', ...order } } };
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const pairs = Object.entries(value).map(([key, inner]) => [key, sorted(inner)] as const);
  return Object.fromEntries(pairs.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
