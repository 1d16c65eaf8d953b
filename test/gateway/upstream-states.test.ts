import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import {
  defineResource,
  defineTool,
  ToolRegistry,
  type Caller,
  type Head,
  type Tool,
  type ToolSource,
} from '../../src/index.ts';
import type { Json, Peer } from '../behaviour/peer.ts';
import { serveSource } from '../client/peers.ts';
import { holders, openCrib, type Crib, type Holder } from '../gateway.ts';
import { propertyRuns } from '../property-runs.ts';

const ask = defineTool(
  { name: 'ask', description: 'Asks.', input: z.object({ marker: z.string() }) },
  async ({ marker }, { elicit }) => {
    const { action } = await elicit({ message: `Sure, ${marker}?`, schema: z.object({ sure: z.boolean() }) });
    return `${marker}: ${action}`;
  },
);
const job = defineTool(
  { name: 'job', description: 'Works.', input: z.object({ marker: z.string() }) },
  async ({ marker }, { detach }) => {
    detach();
    await new Promise(setImmediate);
    return `${marker} worked`;
  },
);
const page = defineResource(
  { uri: 'note://page', name: 'page' },
  (_uri, { caller }) => `page of ${caller.id}`,
);

/** A server that knows each account of the gateway, and lists tools of its own to each. */
async function startServer(): Promise<string> {
  const registry = new ToolRegistry().registerTool(ask, job).registerResource(page);
  const lists = new Map<string, readonly Tool[]>();
  const listFor = ({ id }: Caller): readonly Tool[] => {
    const own = [1, 2, 3].map((count) =>
      defineTool({ name: `of_${id}_${count}`, description: 'Is theirs.' }, () => 'ok'),
    );
    const list = lists.get(id) ?? Object.freeze([...registry.list(), ...own]);
    lists.set(id, list);
    return list;
  };
  const source: ToolSource = {
    list: listFor,
    find: (name) => registry.find(name),
    call: (call) => registry.call(call),
    resources: registry.resources,
  };
  const authenticate = ({ headers }: Head): Caller => {
    const id = String(headers['authorization']).replace('Bearer account-', '');
    return { id, tenant: { id: 'gateway', name: '', data: {} }, scopes: [], roles: [] };
  };
  return serveSource(source, { authenticate, log: () => {} });
}

const byTenant = { north: { bearer: 'account-north' }, south: { bearer: 'account-south' } };
const CELLS = ['older', 'newest'];

async function openWorld(): Promise<Crib> {
  const url = await startServer();
  const shared = { url, credential: { byTenant }, prefix: 'always' as const };
  return openCrib({
    config: {
      mcpServers: { older: { ...shared, protocol: '2025-11-25' }, newest: shared },
      server: { pageSize: 2 },
      stages: { rateLimit: false, concurrency: false, circuitBreak: false },
    },
  });
}

// Somebody of each tenant, a colleague, and two who have the same name in different ones.
const WHO = ['ada', 'bob', 'cyn', 'other ada'] as const satisfies readonly Holder[];
const KINDS = ['question', 'task', 'resource', 'cursor'] as const;
const markerOf = (who: number): string => `marker-of-${WHO[who]!.replaceAll(' ', '-')}-${who}`;
const tenantOf = (who: number): string => holders[WHO[who]!].tenant;

/** Somebody gets something that leads back to it, and somebody else tries it. */
interface Step {
  readonly kind: (typeof KINDS)[number];
  readonly owner: number;
  readonly other: number;
  readonly cell: number;
}

/** The connections of everybody: a client that can be asked, and one that follows tasks. */
interface Peers {
  readonly asked: Peer;
  readonly following: Peer;
}

const ASKED = { elicitation: { form: {} } };
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

async function perform(peers: readonly Peers[], step: Step): Promise<void> {
  const parts = {
    mine: peers[step.owner]!,
    theirs: peers[step.other]!,
    step,
    isForeign: step.owner !== step.other,
  };
  switch (step.kind) {
    case 'question':
      return tryQuestion(parts);
    case 'task':
      return tryTask(parts);
    case 'resource':
      return tryResource(parts);
    case 'cursor':
      return tryCursor(parts);
  }
}

interface Parts {
  readonly mine: Peers;
  readonly theirs: Peers;
  readonly step: Step;
  readonly isForeign: boolean;
}

const REFUSED = expect.objectContaining({ code: -32602 });

async function tryQuestion({ mine, theirs, step: { owner, cell }, isForeign }: Parts): Promise<void> {
  const marker = markerOf(owner);
  const call = { name: `${CELLS[cell]}__ask`, arguments: { marker } };
  const { requestState, inputRequests } = await mine.asked.result('tools/call', call);
  const [[key, question]] = Object.entries(inputRequests as Json) as [[string, Json]];
  expect(question).toMatchObject({ params: { message: `${CELLS[cell]}: Sure, ${marker}?` } });
  const answered = {
    ...call,
    requestState,
    inputResponses: { [key]: { action: 'accept', content: { sure: true } } },
  };
  if (isForeign) expect(await theirs.asked.error('tools/call', answered)).toEqual(REFUSED);
  // The attempt has not used it up.
  const { content } = await mine.asked.result('tools/call', answered);
  expect(content).toMatchObject([{ text: `${marker}: accept` }]);
}

async function tryTask({ mine, theirs, step: { owner }, isForeign }: Parts): Promise<void> {
  const marker = markerOf(owner);
  const call = { name: 'newest__job', arguments: { marker } };
  const { taskId } = await mine.following.result('tools/call', call);
  if (isForeign)
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      expect(await theirs.following.error(method, { taskId, inputResponses: {} })).toEqual(REFUSED);
  const end = async (): Promise<string> =>
    JSON.stringify(await mine.following.result('tasks/get', { taskId }));
  await expect.poll(end, { timeout: 10_000 }).toContain(`${marker} worked`);
}

async function tryResource({ mine, theirs, step }: Parts): Promise<void> {
  const uri = `note://${CELLS[step.cell]}/page`;
  for (const [peer, who] of [
    [mine, step.owner],
    [theirs, step.other],
  ] as const)
    expect(await peer.asked.result('resources/read', { uri })).toMatchObject({
      contents: [{ uri, text: `page of ${tenantOf(who)}` }],
    });
}

async function tryCursor({ mine, theirs, step }: Parts): Promise<void> {
  const { nextCursor: cursor, ...first } = await mine.asked.list();
  expect(cursor).toBeTypeOf('string');
  const own = [first, await mine.asked.list({ cursor })];
  const foreign = await theirs.asked.request('tools/list', { cursor });
  for (const [list, who] of [
    [own, step.owner],
    [foreign, step.other],
  ] as const)
    expect(JSON.stringify(list)).not.toContain(tenantOf(who) === 'north' ? 'of_south' : 'of_north');
}

test(
  'A10 what leads back to a call, task or list of one caller is no use to any other, and equal addresses are never mixed',
  { timeout: 120_000 },
  async () => {
    const crib = await openWorld();
    const peers = await Promise.all(
      WHO.map(async (who): Promise<Peers> => ({
        asked: await crib.connect(who, { capabilities: ASKED }),
        following: await crib.connect(who, { capabilities: TASKS }),
      })),
    );
    for (const { asked } of peers) await asked.list();
    const someone = fc.nat(WHO.length - 1);
    const step = fc.record({
      kind: fc.constantFrom(...KINDS),
      owner: someone,
      other: someone,
      cell: fc.nat(CELLS.length - 1),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 16 }), async (steps) => {
        await Promise.all(steps.map((one) => perform(peers, one)));
      }),
      { numRuns: propertyRuns(100) },
    );
    for (const [who, { asked, following }] of peers.entries())
      for (const other of WHO.keys())
        if (other !== who)
          expect([...asked.wire.heard, ...following.wire.heard].join('\n')).not.toContain(markerOf(other));
  },
);
