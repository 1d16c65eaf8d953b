import { expect, test } from 'vitest';
import type { ConfigInput } from '../../src/gateway.ts';
import { changeTool } from '../../src/core/tool.ts';
import type { Decision, DecisionRequest } from '../../src/stages.ts';
import { everythingForStaff, openCrib, type Crib, type Offer } from '../gateway.ts';
import { within } from '../within.ts';
import { echo, versions, wiper } from './governed-tools.ts';

const PERSON = { approve: { mode: 'person' } } as const satisfies ConfigInput['stages'];

interface Asked {
  readonly crib: Crib;
  readonly asked: DecisionRequest[];
}

/** A gateway inside a program whose user gives these answers in turn. */
async function openAsked(
  answers: readonly (Decision | (() => Promise<Decision>))[],
  offers: readonly Offer[],
  config: ConfigInput = {},
): Promise<Asked> {
  const asked: DecisionRequest[] = [];
  const crib = await openCrib({
    offers,
    config: { stages: PERSON, ...config },
    onToolCall: (request) => {
      const answer = answers[asked.push(request) - 1] ?? 'deny';
      return typeof answer === 'function' ? answer() : answer;
    },
  });
  return { crib, asked };
}

test('B12 a program that embeds a gateway can ask its user for approval while the call waits, in the oldest and newest revision', async () => {
  const { tool, ran } = wiper();
  const no: Decision = { kind: 'deny', reason: 'Not that one.' };
  const { crib, asked } = await openAsked(['allow', no, 'allow', no], [tool, echo().tool]);
  for (const version of [versions[0]!, versions.at(-1)!]) {
    const peer = await crib.connect('ada', { version });
    const done = await peer.call('wipe', { disk: version });
    expect(JSON.parse(done.content[0]!.text)).toEqual({ wiped: version });
    const denied = await peer.call('wipe', { disk: 'sda' });
    expect(denied).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('and says: "Not that one."') }],
    });
    // Nobody is asked about what only reads.
    await peer.call('echo', { text: 'x' });
    expect(ran.splice(0)).toEqual([{ disk: version }]);
  }
  expect(asked[0]).toMatchObject({ tool: 'wipe', tenant: 'north', caller: 'ada', server: undefined });
  expect(asked.map(({ exactArguments }) => exactArguments)).toEqual(
    [versions[0], 'sda', versions.at(-1), 'sda'].map((disk) => JSON.stringify({ disk })),
  );
  expect(crib.rowsOf('wipe').slice(0, 3)).toMatchObject([
    { kind: 'intent', decision: 'allowed', approval: 'person' },
    { kind: 'outcome', outcome: 'done' },
    { kind: 'call', decision: 'refused', outcome: 'refused', approval: 'person' },
  ]);
});

test('B12 arguments that a person changed are checked by every rule again, and the record has the ones that ran', async () => {
  const { tool, ran } = wiper();
  const edits = ['sdb', 'root'].map((disk): Decision => ({ kind: 'edit', arguments: { disk } }));
  const wrong = { kind: 'edit', arguments: { disk: 7 } } as const;
  const { crib } = await openAsked([...edits, wrong, 'allow', 'allow'], [tool], {
    access: [{ tools: ['wipe'], effect: 'deny', when: 'args.disk == "root"' }, everythingForStaff],
  });
  const peer = await crib.connect('ada');
  const changed = await peer.call('wipe', { disk: 'sda' });
  expect(changed.content.at(-1)).toMatchObject({
    text: '[a person changed the arguments to {"disk":"sdb"}]',
  });
  expect((await peer.call('wipe', { disk: 'sda' })).isError).toBe(true);
  expect((await peer.call('wipe', { disk: 'sda' })).content[0]!.text).toMatch(/^Invalid arguments/);
  expect(ran).toEqual([{ disk: 'sdb' }]);
  await peer.call('wipe', { disk: 'sda' });
  await peer.call('wipe', { disk: 'sdb' });
  const intents = crib.rowsOf('wipe').filter(({ kind }) => kind === 'intent');
  const [edited, asAsked, same] = intents.map(({ arguments: digest }) => digest);
  expect(edited).toBe(same);
  expect(edited).not.toBe(asAsked);
  expect(intents[0]).toMatchObject({ approval: 'person, edited' });
});

test('B12 an approval for a limited time holds for one caller, survives a reload, and ends when it is revoked', async () => {
  const { tool, ran } = wiper();
  const { crib, asked } = await openAsked([{ kind: 'allowAlways', scope: 'tool' }], [tool]);
  const [ada, bob] = [await crib.connect('ada'), await crib.connect('bob')];
  await ada.call('wipe', { disk: 'a' });
  await crib.reload();
  await ada.call('wipe', { disk: 'b' });
  expect((await bob.call('wipe', { disk: 'c' })).isError).toBe(true);
  expect(ran).toEqual([{ disk: 'a' }, { disk: 'b' }]);
  const [grant] = crib.gateway.grants.list();
  expect(grant).toMatchObject({ scope: 'tool', tools: ['wipe'] });
  expect(crib.rowsOf('wipe').findLast(({ kind }) => kind === 'intent')).toMatchObject({
    approval: grant!.id,
  });
  crib.gateway.grants.revoke(grant!.id);
  expect((await ada.call('wipe', { disk: 'd' })).isError).toBe(true);
  expect(asked).toHaveLength(3);
});

test('B12 "always" for a server covers its present tools, and ends when their definitions change', async () => {
  const [first, second] = [wiper('first'), wiper('second')];
  const { crib, asked } = await openAsked(
    [{ kind: 'allowAlways', scope: 'server' }],
    [first.tool, second.tool],
  );
  const peer = await crib.connect('ada');
  await peer.call('first', { disk: 'a' });
  expect(asked[0]!.serverTools).toEqual(['first', 'second']);
  await peer.call('second', { disk: 'b' });
  expect(asked).toHaveLength(1);
  const owner = crib.gateway.grants.list()[0]!.owner;
  const changed = changeTool(second.tool, { description: 'Wipes everything.' });
  expect(crib.gateway.grants.find(owner, { tool: changed, arguments: {} })).toBeUndefined();
  expect((await peer.call('second', { disk: 'c' })).isError).toBe(true);
  expect(second.ran).toEqual([{ disk: 'b' }]);
});

test('a gateway that stops does not wait for a person who does not answer', async () => {
  const { tool, ran } = wiper();
  let asking = (): void => {};
  const isAsked = new Promise<void>((resolve) => (asking = resolve));
  const never = (): Promise<Decision> => {
    asking();
    return new Promise(() => {});
  };
  const { crib, asked } = await openAsked([never], [tool]);
  const peer = await crib.connect('ada');
  const call = peer.call('wipe', { disk: 'a' }).catch(() => undefined);
  await within(10_000, 'the question', isAsked);
  await within(10_000, 'the stop', crib.gateway.close());
  await call;
  expect(asked[0]!.signal.aborted).toBe(true);
  expect(ran).toEqual([]);
});

test('a gateway does not start when its file and the program disagree on who is asked for approval', async () => {
  await expect(openCrib({ config: { stages: PERSON } })).rejects.toThrow(
    /nobody can be asked: give onToolCall/,
  );
  await expect(openCrib({ onToolCall: () => 'allow' })).rejects.toThrow(
    /onToolCall is given, and would never/,
  );
});
