import { expect, test } from 'vitest';
import { validatorOf } from '../../src/schema/validator.ts';
import { requireConfirmation } from '../../src/index.ts';
import { everythingForStaff, openCrib } from '../gateway.ts';
import { versions, wiper } from './governed-tools.ts';
import type { Json } from './peer.ts';

test('in every revision a destructive tool asks, and runs when it is confirmed (000-32, 000-33, 000-34)', async () => {
  const { tool, ran } = wiper();
  const crib = await openCrib({ offers: [tool], config: { stages: { approve: {} } } });
  for (const version of versions) {
    const peer = await crib.connect('ada', { version });
    const [listed] = (await peer.list()).tools as [Json & { description: string; inputSchema: Json }];
    expect(listed.description).toMatch(/\. DESTRUCTIVE - requires confirmation\.$/);
    expect(listed.inputSchema).toMatchObject({
      properties: { confirmed: { type: 'boolean', default: false } },
    });
    const asked = await peer.call('wipe', { disk: version });
    expect(asked.isError ?? false).toBe(false);
    expect(JSON.parse(asked.content[0]!.text)).toEqual({
      status: 'confirmation_required',
      message: expect.stringContaining('confirmed=true'),
    });
    expect(ran).toEqual([]);
    const done = await peer.call('wipe', { disk: version, confirmed: true });
    expect(JSON.parse(done.content[0]!.text)).toEqual({ wiped: version });
    expect(ran.splice(0)).toEqual([{ disk: version }]);
    // What a client that holds servers to their schemas would check.
    if (listed['outputSchema'] === undefined) continue;
    const check = validatorOf(listed['outputSchema'] as Json);
    for (const { structuredContent } of [asked, done])
      expect(check(structuredContent)).toHaveProperty('value');
  }
});

test('B12 the record distinguishes the refused attempt from the confirmed call, and says how it was confirmed (000-33)', async () => {
  const { tool } = wiper();
  const crib = await openCrib({ offers: [tool], config: { stages: { approve: {} } } });
  const peer = await crib.connect('ada');
  await peer.call('wipe', { disk: 'sda' });
  await peer.call('wipe', { disk: 'sda', confirmed: true });
  const rows = crib.rowsOf('wipe');
  expect(rows).toMatchObject([
    { kind: 'call', decision: 'refused', outcome: 'approval_required' },
    { kind: 'intent', decision: 'allowed', approval: 'argument' },
    { kind: 'outcome', outcome: 'done' },
  ]);
  expect(rows[0]).not.toHaveProperty('approval');
});

test('B12 the stage is off by default, and then the same call runs at once', async () => {
  const { tool, ran } = wiper();
  const crib = await openCrib({ offers: [tool] });
  await (await crib.connect('ada')).call('wipe', { disk: 'sda' });
  expect(ran).toEqual([{ disk: 'sda' }]);
});

test('a tool made with requireConfirmation asks for confirmation in any configuration, and only once', async () => {
  const { tool, ran } = wiper();
  for (const stages of [{}, { approve: {} }]) {
    const crib = await openCrib({ offers: [requireConfirmation(tool)], config: { stages } });
    const peer = await crib.connect('ada');
    const asked = await peer.call('wipe', { disk: 'sda' });
    expect(asked.structuredContent).toMatchObject({ status: 'confirmation_required' });
    expect(ran).toEqual([]);
    const done = await peer.call('wipe', { disk: 'sda', confirmed: true });
    expect(done.structuredContent).toEqual({ wiped: 'sda' });
    expect(ran.splice(0)).toEqual([{ disk: 'sda' }]);
    expect(crib.rowsOf('wipe')).toMatchObject([
      { kind: 'call', decision: 'refused', outcome: 'approval_required' },
      { kind: 'intent', approval: 'argument' },
      { kind: 'outcome' },
    ]);
  }
});

test.each(['true', 1, null])('B12 %j does not count as a confirmation in a gateway', async (confirmed) => {
  const { tool, ran } = wiper();
  const crib = await openCrib({ offers: [tool], config: { stages: { approve: {} } } });
  const refused = await (await crib.connect('ada')).call('wipe', { disk: 'sda', confirmed });
  expect([refused.isError, refused.content[0]!.text]).toEqual([
    true,
    'Invalid arguments for wipe: confirmed: must be true or false',
  ]);
  expect(ran).toEqual([]);
});

test('B12 a hidden tool looks like a missing tool to a caller, confirmed or not', async () => {
  const { tool, ran } = wiper();
  const crib = await openCrib({
    offers: [tool],
    config: {
      stages: { approve: { tools: ['*'] } },
      access: [{ ...everythingForStaff, roles: ['lead'] }],
    },
  });
  const bob = await crib.connect('bob');
  expect((await bob.list()).tools).toEqual([]);
  for (const confirmed of [false, true]) {
    const hidden = await bob.error('tools/call', { name: 'wipe', arguments: { disk: 'a', confirmed } });
    const absent = await bob.error('tools/call', { name: 'none', arguments: { disk: 'a', confirmed } });
    expect(JSON.stringify(hidden).replaceAll('wipe', 'none')).toBe(JSON.stringify(absent));
  }
  expect(ran).toEqual([]);
});

test('B12 switching the stage on while the server runs adds the confirmation to the listed tools and to their calls', async () => {
  const { tool, ran } = wiper();
  const crib = await openCrib({ offers: [tool] });
  const peer = await crib.connect('ada');
  expect(JSON.stringify(await peer.list())).not.toContain('confirmed');
  crib.configure({ stages: { approve: {} } });
  await crib.reload();
  expect(JSON.stringify(await peer.list())).toContain('confirmed');
  await peer.call('wipe', { disk: 'sda' });
  expect(ran).toEqual([]);
});
