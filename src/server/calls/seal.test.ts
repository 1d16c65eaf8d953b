import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { localCaller, type Caller } from '../../core/caller.ts';
import type { SealingKey, SealingKeys } from '../../core/memory/memory.ts';
import { ToolRegistry } from '../../core/registry.ts';
import { defineTool } from '../../core/tool.ts';
import { metaKeys } from '../../protocol/wire/meta.ts';
import { createFakeClock } from '../../testing.ts';
import { createServer, type Server } from '../create-server.ts';
import { createInMemory } from '../../core/memory/in-memory.ts';
import { Seal, type Binding, type SealOptions } from './seal.ts';

const binding: Binding = {
  owner: '4:acme/ada',
  method: 'tools/call',
  target: 'delete abc',
  arguments: 'digest',
};
const answers = {
  answers: new Map<string, unknown>([['confirm', { action: 'accept', content: { ok: true } }]]),
  round: 3,
};
const LIFETIME_MS = 10 * 60_000;

type SealLike = Pick<Seal, 'open' | 'close'>;

function createSeal(change: Partial<SealOptions> = {}) {
  const clock = createFakeClock();
  const { keys, spent } = createInMemory(clock);
  return { clock, seal: new Seal({ keys, spent, clock, ...change }) };
}

/** The names of the attempts that a seal lets through, of all that it must refuse. */
async function weaknessesOf(seal: SealLike, passTime: (ms: number) => void): Promise<string[]> {
  const through: string[] = [];
  const attempt = async (name: string, state: string, change: Partial<Binding> = {}): Promise<void> => {
    try {
      await seal.open(state, { ...binding, ...change }, 'again');
      through.push(name);
    } catch (error) {
      expect(error).toMatchObject({ code: 'invalid_state' });
    }
  };
  const state = await seal.close(answers, binding);
  for (let position = 0; position < state.length; position++) {
    const code = state.charCodeAt(position);
    for (const other of [code ^ 1, code ^ 2, code ^ 32].map((changed) => String.fromCharCode(changed)))
      await attempt('changed', state.slice(0, position) + other + state.slice(position + 1));
    await attempt('cut', state.slice(0, position));
  }
  for (const added of [`${state}A`, `${state}.`, `${state}=`, ` ${state}`, `${state}\n`])
    await attempt('changed', added);
  for (const invented of ['', '.', 'x.y', '.'.repeat(100_000), 'A'.repeat(100_000)])
    await attempt('invented', invented);
  await attempt('other caller', state, { owner: '4:acme/bob' });
  await attempt('other tenant', state, { owner: '4:evil/ada' });
  await attempt('other tool', state, { target: 'delete_all abc' });
  await attempt('changed tool', state, { target: 'delete abd' });
  await attempt('other arguments', state, { arguments: 'digesu' });
  await attempt('other method', state, { method: 'prompts/get' });

  await seal.open(state, binding, 'once');
  const again = await seal.open(state, binding, 'once').then(
    () => ['used twice'],
    () => [],
  );
  const late = await seal.close(answers, binding);
  passTime(LIFETIME_MS);
  await attempt('expired', late);
  return [...new Set([...through, ...again])];
}

test('a sealed state can be opened for the call it was sealed for', async () => {
  const { seal } = createSeal();
  const state = await seal.close(answers, binding);
  expect(state).toMatch(/^[\da-f]{8}\.[\w-]+$/);
  expect(Buffer.from(state, 'base64url').includes('accept')).toBe(false);
  expect(await seal.open(state, binding, 'again')).toEqual(answers);
  expect(await seal.open(state, binding, 'again')).toEqual(answers);
  expect(await seal.close(answers, binding)).not.toBe(state);
});

test('A11 a state is refused with a changed byte, another caller, tool, argument or method, on a second use and when expired', async () => {
  const { seal, clock } = createSeal();
  expect(await weaknessesOf(seal, (ms) => clock.advance(ms))).toEqual([]);
});

test('A11 control: a seal without one of these checks is detected', async () => {
  const forgetful = createSeal({ spent: { spend: () => true } });
  expect(await weaknessesOf(forgetful.seal, (ms) => forgetful.clock.advance(ms))).toEqual(['used twice']);

  const timeless = createSeal();
  expect(await weaknessesOf(timeless.seal, () => {})).toEqual(['expired']);

  const { seal, clock } = createSeal();
  const unbound: SealLike = {
    close: (given, bound) => seal.close(given, bound),
    open: (state, _binding, use) => seal.open(state, binding, use),
  };
  expect(await weaknessesOf(unbound, (ms) => clock.advance(ms))).toEqual([
    'other caller',
    'other tenant',
    'other tool',
    'changed tool',
    'other arguments',
    'other method',
  ]);

  const lenient: SealLike = {
    close: (given, bound) => seal.close(given, bound),
    open: (state, bound, use) => seal.open(canonical(state), bound, use),
  };
  expect(await weaknessesOf(lenient, (ms) => clock.advance(ms))).toContain('changed');
});

// What a decoder makes of a state that does not care about padding, line breaks and spare bits.
function canonical(state: string): string {
  const [id = '', body = ''] = state.trim().split('.');
  return `${id}.${Buffer.from(body, 'base64url').toString('base64url')}`;
}

test('A11 a replaced key still opens the states it sealed, until it is removed', async () => {
  const key = (id: string): SealingKey => ({ id, bytes: randomBytes(32) });
  const known = new Map<string, SealingKey>();
  let current = key('old');
  known.set('old', current);
  const keys: SealingKeys = { current: async () => current, find: async (id) => known.get(id) };
  const { seal } = createSeal({ keys });
  const before = await seal.close(answers, binding);

  current = key('new');
  known.set('new', current);
  const after = await seal.close(answers, binding);
  expect([before, after].map((state) => state.split('.')[0])).toEqual(['old', 'new']);
  expect(await seal.open(before, binding, 'again')).toEqual(answers);
  expect(await seal.open(after, binding, 'again')).toEqual(answers);

  known.delete('old');
  await expect(seal.open(before, binding, 'again')).rejects.toMatchObject({ code: 'invalid_state' });
  expect(await seal.open(after, binding, 'again')).toEqual(answers);
  // The key's name is sealed as well.
  known.set('alias', current);
  const renamed = after.replace('new.', 'alias.');
  await expect(seal.open(renamed, binding, 'again')).rejects.toMatchObject({ code: 'invalid_state' });
});

test("servers that share their keys can open each other's states; other servers cannot", async () => {
  const clock = createFakeClock();
  const shared = createInMemory(clock);
  const first = new Seal({ ...shared, clock });
  const second = new Seal({ ...shared, clock });
  const stranger = createSeal().seal;
  const state = await first.close(answers, binding);
  await expect(stranger.open(state, binding, 'once')).rejects.toMatchObject({ code: 'invalid_state' });
  expect(await second.open(state, binding, 'once')).toEqual(answers);
  await expect(first.open(state, binding, 'once')).rejects.toMatchObject({ code: 'invalid_state' });
});

const bob: Caller = { ...localCaller, id: 'bob' };

/** A server whose tools ask once, and the calls that reached them with an answer. */
function openAsking() {
  const acted: string[] = [];
  const asking = (name: string, readOnlyHint: boolean, description = 'Asks first.') =>
    defineTool(
      {
        name,
        description,
        annotations: { readOnlyHint },
        input: { properties: { file: { type: 'string' } } },
      },
      async ({ file = '' }, { elicit }) => {
        const schema = { properties: { ok: { type: 'boolean' } } } as const;
        const { action } = await elicit({ key: 'confirm', message: 'Sure?', schema });
        acted.push(`${name} ${file}`);
        return action;
      },
    );
  const source = new ToolRegistry().registerTool(
    asking('delete', false),
    asking('delete_all', false),
    asking('look', true),
  );
  const clock = createFakeClock();
  const server = createServer({ source, clock, log: () => {} });
  const redefine = (): unknown => source.replace(asking('delete', false, 'Asks first, then deletes more.'));
  return { server, acted, clock, redefine };
}

interface Retry {
  readonly name?: string;
  readonly file?: string;
  readonly caller?: Caller;
  readonly state?: unknown;
}

async function call(server: Server, { name = 'delete', file = 'a.txt', caller = localCaller, state }: Retry) {
  const answer = await server.handle(
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name,
        arguments: { file },
        _meta: {
          [metaKeys.protocolVersion]: '2026-07-28',
          [metaKeys.clientCapabilities]: { elicitation: {} },
        },
        ...(state !== undefined && {
          requestState: state,
          inputResponses: { confirm: { action: 'accept', content: {} } },
        }),
      },
    },
    { caller },
  );
  return answer as unknown as {
    result?: { resultType: string; requestState: string };
    error?: { code: number; message: string };
  };
}

async function asked(server: Server, name = 'delete'): Promise<string> {
  const { result } = await call(server, { name });
  expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { confirm: {} } });
  return result!.requestState;
}

test('A11 a tool with effects runs once for a state; every other use is refused in the same way, and nothing runs', async () => {
  const { server, acted, clock, redefine } = openAsking();
  const state = await asked(server);
  const messages = new Set<string>();
  const expectRefused = async (retry: Retry): Promise<void> => {
    const { error } = await call(server, { state, ...retry });
    expect(error?.code).toBe(-32602);
    messages.add(error!.message);
  };
  await expectRefused({ caller: bob });
  await expectRefused({ name: 'delete_all' });
  await expectRefused({ name: 'look' });
  await expectRefused({ file: 'b.txt' });
  await expectRefused({ state: `${state.slice(0, -4)}AAAA` });
  await expectRefused({ state: 'made up' });
  expect(acted).toEqual([]);

  expect((await call(server, { state })).result).toMatchObject({ resultType: 'complete' });
  await expectRefused({});
  const late = await asked(server);
  clock.advance(LIFETIME_MS);
  await expectRefused({ state: late });
  const early = await asked(server);
  redefine();
  await expectRefused({ state: early });
  expect(acted).toEqual(['delete a.txt']);
  expect(messages.size).toBe(1);
});

test('A11 a state that is not text is refused', async () => {
  const { server } = openAsking();
  for (const state of [1, null, {}, ['x']])
    expect((await call(server, { state })).error).toMatchObject({ code: -32602 });
});

test('A11 of many simultaneous retries with one state, one runs', async () => {
  const { server, acted } = openAsking();
  const state = await asked(server);
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => call(server, { state })));
  expect(outcomes.filter(({ result }) => result)).toHaveLength(1);
  expect(acted).toEqual(['delete a.txt']);
});

test('a read-only tool may use its state again', async () => {
  const { server, acted } = openAsking();
  const state = await asked(server, 'look');
  for (let count = 0; count < 3; count++)
    expect((await call(server, { name: 'look', state })).result).toMatchObject({ resultType: 'complete' });
  expect(acted).toEqual(['look a.txt', 'look a.txt', 'look a.txt']);
});
