import { readFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { Client } from '../faults/client.ts';
import { Crib as FaultCrib } from '../faults/crib.ts';
import { openCrib, readAllRows, type Crib } from '../gateway.ts';
import { versions, wiper } from './governed-tools.ts';
import { runCommandLine, type Run } from './run-command-line.ts';

const OPERATOR = { approve: { mode: 'operator' } } as const;

/** Runs `toolcrib approvals` as somebody on the machine. */
function approvals(crib: Pick<Crib, 'path'>, args: readonly string[], as = 'root'): Promise<Run> {
  return runCommandLine(['approvals', ...args, '--config', crib.path('toolcrib.yaml')], { SUDO_USER: as });
}

async function waitingIds(crib: Pick<Crib, 'path'>): Promise<string[]> {
  const { output } = await approvals(crib, ['list', '--json']);
  const all = JSON.parse(output) as { id: string; decision?: unknown }[];
  return all.filter(({ decision }) => decision === undefined).map(({ id }) => id);
}

test('B12 in the oldest and the newest revision a call waits for approval at the command line, and runs once when approved', async () => {
  const { tool, ran } = wiper();
  const crib = await openCrib({ offers: [tool], config: { stages: OPERATOR } });
  // One of each way to call: with a session and without.
  for (const version of [versions[0]!, versions.at(-1)!]) {
    const peer = await crib.connect('ada', { version });
    const asked = await peer.call('wipe', { disk: version });
    expect(asked).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/a person has to approve this call of wipe/) }],
    });
    const [id] = await waitingIds(crib);
    expect(asked.content[0]!.text).toContain(id);
    expect(await approvals(crib, ['approve', id!])).toMatchObject({
      code: 0,
      output: expect.stringMatching(
        `${id}  approved by root until .*wipe for ada of north\n  {"disk":"${version}"}`,
      ),
    });
    const done = await peer.call('wipe', { disk: version });
    expect(JSON.parse(done.content[0]!.text)).toEqual({ wiped: version });
    expect((await peer.call('wipe', { disk: version })).isError).toBe(true);
    expect(ran.splice(0)).toEqual([{ disk: version }]);
    await approvals(crib, ['deny', (await waitingIds(crib))[0]!]);
    expect((await peer.call('wipe', { disk: version })).content[0]!.text).toContain('was denied');
  }
  expect(ran).toEqual([]);
});

test('B12 the audit record says who decided about which call, and on whose approval it ran', async () => {
  const { tool } = wiper();
  const crib = await openCrib({ offers: [tool], config: { stages: OPERATOR } });
  const peer = await crib.connect('ada');
  await peer.call('wipe', { disk: 'sda' });
  const [id] = await waitingIds(crib);
  await approvals(crib, ['approve', id!], 'grace');
  await peer.call('wipe', { disk: 'sda' });
  expect(crib.rowsOf('wipe')).toMatchObject([
    { kind: 'call', decision: 'refused', outcome: 'approval_required', approval: id },
    { kind: 'operator', by: 'grace', did: 'call approved', approval: id, tenant: 'north', caller: 'ada' },
    { kind: 'intent', approval: id },
    { kind: 'outcome', outcome: 'done' },
  ]);
  expect(crib.logged).toContainEqual({
    level: 'info',
    message: `A call waits to be approved as ${id}; see: toolcrib approvals list`,
    facts: { tool: 'wipe', tenant: 'north', caller: 'ada' },
  });
});

test('B12 nobody can approve a call of their own, and no call is decided twice', async () => {
  const { tool, ran } = wiper();
  const crib = await openCrib({ offers: [tool], config: { stages: OPERATOR } });
  const peer = await crib.connect('ada');
  await peer.call('wipe', { disk: 'sda' });
  const [id] = await waitingIds(crib);
  for (const name of ['ada', 'Ada'])
    expect(await approvals(crib, ['approve', id!], name)).toMatchObject({
      code: 1,
      complaints: expect.stringContaining('somebody else has to decide'),
    });
  expect((await peer.call('wipe', { disk: 'sda' })).isError).toBe(true);
  expect(await approvals(crib, ['deny', id!])).toMatchObject({ code: 0 });
  expect(await approvals(crib, ['approve', id!])).toMatchObject({
    code: 1,
    complaints: expect.stringContaining('was denied by root before'),
  });
  expect(await approvals(crib, ['approve', 'apr_000000000000'])).toMatchObject({
    code: 1,
    complaints: expect.stringContaining('No call waits as "apr_000000000000"'),
  });
  expect(ran).toEqual([]);
});

test('B12 of two decisions at the same time one counts, and only that one is on record', async () => {
  const { tool } = wiper();
  const crib = await openCrib({ offers: [tool], config: { stages: OPERATOR } });
  const peer = await crib.connect('ada');
  for (let round = 0; round < 3; round++) {
    await peer.call('wipe', { disk: `${round}` });
    const [id] = await waitingIds(crib);
    const both = await Promise.all([
      approvals(crib, ['approve', id!], 'alice'),
      approvals(crib, ['deny', id!], 'grace'),
    ]);
    expect(both.filter(({ code }) => code === 0)).toHaveLength(1);
    expect(crib.rows().filter(({ kind, approval }) => kind === 'operator' && approval === id)).toMatchObject([
      { kind: 'operator', by: both[0].code === 0 ? 'alice' : 'grace' },
    ]);
  }
});

test('B12 the person who approves sees all arguments, and invisible characters as codes', async () => {
  const { tool } = wiper();
  const crib = await openCrib({ offers: [tool], config: { stages: OPERATOR } });
  const peer = await crib.connect('ada');
  const disk = `${'x'.repeat(5_000)}\u202e\u3164\ufe01end`;
  await peer.call('wipe', { disk });
  const { output } = await approvals(crib, ['list']);
  expect(output).toContain(`{"disk":"${'x'.repeat(5_000)}\\u202e\\u3164\\ufe01end"}`);
  const json = await approvals(crib, ['list', '--json', '--tenant', 'north']);
  expect(JSON.parse(json.output)).toMatchObject([{ tool: 'wipe', arguments: { disk: expect.any(String) } }]);
  expect((await approvals(crib, ['list', '--tenant', 'south'])).output).toBe(
    'No call waits to be approved.\n',
  );
});

test('B12 no tool can approve: approvals are not among the tools that are listed and callable', async () => {
  const { tool } = wiper();
  const crib = await openCrib({ offers: [tool], config: { stages: OPERATOR } });
  const peer = await crib.connect('ada');
  await peer.call('wipe', { disk: 'sda' });
  const [id] = await waitingIds(crib);
  expect((await peer.list()).tools.map(({ name }) => name)).toEqual(['wipe']);
  for (const name of ['approvals', 'approve', 'toolcrib_approve'])
    await expect(peer.call(name, { id })).rejects.toThrow(/unknown|no tool/i);
  for (const path of ['/approvals', `/approvals/${id}`])
    expect((await fetch(new URL(path, crib.url), { method: 'POST' })).status).toBe(404);
  expect((await peer.call('wipe', { disk: 'sda', confirmed: true })).content[0]!.text).toContain('confirmed');
  expect(await waitingIds(crib)).toEqual([id]);
});

test('B12 an approval survives a restart, and a call whose server died while it ran does not run again', async () => {
  const crib = new FaultCrib({ stages: { approve: { mode: 'operator', when: [], tools: ['effect'] } } });
  onTestFinished(() => crib.close());
  const first = await crib.start();
  const call = { nonce: 'once', afterMs: 30_000 };
  const client = new Client({ port: first.port });
  expect((await client.call('effect', call)).text).toContain('has to approve');
  const [id] = await waitingIds(crib);
  expect(await crib.command('approvals', 'approve', id!)).toMatchObject({ code: 0 });
  client.close();
  first.child.kill('SIGKILL');
  await first.exit;
  const second = await crib.start();
  const again = new Client({ port: second.port });
  const running = again.call('effect', call).catch(() => 'cut off');
  await expect.poll(() => readFileSync(crib.path('notes'), 'utf8'), { timeout: 10_000 }).toBe('once\n');
  second.child.kill('SIGKILL');
  expect(await running).toBe('cut off');
  again.close();
  const third = await crib.start();
  const last = new Client({ port: third.port });
  expect((await last.call('effect', call)).text).toContain('has to approve');
  last.close();
  expect(readFileSync(crib.path('notes'), 'utf8')).toBe('once\n');
  const kinds = readAllRows(crib.folder).map(({ kind, approval, outcome }) => [kind, approval, outcome]);
  expect(kinds.filter(([kind]) => kind === 'intent')).toEqual([['intent', id, undefined]]);
});

test('B12 check refuses the operator mode where nobody could approve or nothing would record who did', async () => {
  for (const [config, complaint] of [
    [{ store: { url: 'memory:' }, stages: OPERATOR }, 'where nobody could approve it'],
    [{ stages: { ...OPERATOR, audit: false } }, 'without a record of what was approved'],
  ] as const) {
    const crib = await openCrib({ open: true });
    crib.configure(config);
    const { code, output, complaints } = await runCommandLine(['check', crib.path('toolcrib.yaml')]);
    expect(code).toBe(1);
    expect(output + complaints).toContain(complaint);
  }
});
