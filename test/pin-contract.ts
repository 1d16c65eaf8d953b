import { expect, test, vi } from 'vitest';
import type { Awaitable } from '../src/base/awaitable.ts';
import type { SeenDefinition } from '../src/store/pin.ts';
import type { Store } from '../src/store/store.ts';

/** What every store promises about pins. */
export function describePins<S extends Store>(
  open: () => Promise<S>,
  bodiesOf?: (store: S, chain: string) => Awaitable<readonly string[]>,
): void {
  const place = { server: 'web', account: '', tool: 'search' };
  const row = { chain: 'operators', body: '{"did":"something"}' };
  const seen = (digest: string): SeenDefinition => ({ digest, definition: `{"v":"${digest}\u200b"}`, at: 5 });

  test('C4 only the first definition of a tool is pinned, character for character', async () => {
    const { pins } = await open();
    const first = await pins.pinFirst(place, seen('one'));
    expect(first).toMatchObject({ ...place, pinned: { ...seen('one'), by: undefined }, held: undefined });
    expect(await pins.pinFirst(place, seen('two'))).toEqual(first);
    expect(await pins.list()).toEqual([first]);
  });

  test('C4 of 100 simultaneous first definitions one is pinned, and every caller gets that one', async () => {
    const { pins } = await open();
    const all = await Promise.all(Array.from({ length: 100 }, (_, n) => pins.pinFirst(place, seen(`d${n}`))));
    expect(new Set(all.map(({ pinned }) => pinned?.digest))).toEqual(new Set(['d0']));
  });

  test('C4 another definition is held beside the pinned one, with one row however often it is seen', async () => {
    const store = await open();
    const { pins } = store;
    await pins.pinFirst(place, seen('one'));
    const held = await pins.hold(place, seen('two'), row);
    expect(held).toMatchObject({ pinned: seen('one'), held: seen('two') });
    expect(await pins.hold(place, seen('two'), row)).toBeUndefined();
    expect(await pins.hold(place, seen('one'), row)).toBeUndefined();
    expect(await pins.list()).toEqual([held]);
    if (bodiesOf) expect(await bodiesOf(store, 'operators')).toEqual([row.body]);
  });

  test('C4 an approval covers only the definition that was shown: a newer one needs its own', async () => {
    const store = await open();
    const { pins } = store;
    await pins.hold(place, seen('one'), undefined);
    await pins.hold(place, seen('two'), undefined);
    const approval = { digest: 'one', by: 'ada', at: 9 };
    expect(await pins.approve(place, approval, row)).toEqual([]);
    if (bodiesOf) expect(await bodiesOf(store, 'operators')).toEqual([]);
    const approved = await pins.approve(place, { ...approval, digest: 'two' }, row);
    expect(approved).toMatchObject([{ pinned: { ...seen('two'), at: 9, by: 'ada' }, held: undefined }]);
    expect(await pins.approve(place, { ...approval, digest: 'two' }, row)).toEqual([]);
    if (bodiesOf) expect(await bodiesOf(store, 'operators')).toEqual([row.body]);
  });

  test('C4 the first listing of a server is pinned as a whole, and nothing of a later one', async () => {
    const { pins } = await open();
    const listing = ['search', 'fetch'].map((tool) => ({ tool, ...seen('one') }));
    await pins.hold(place, seen('one'), undefined);
    await pins.pinListing({ server: 'web', account: '' }, listing);
    const both = [
      { tool: 'fetch', pinned: seen('one'), held: undefined },
      { tool: 'search', pinned: seen('one'), held: undefined },
    ];
    expect(await pins.list()).toMatchObject(both);
    await pins.pinListing({ server: 'web', account: '' }, [{ tool: 'late', ...seen('one') }]);
    expect(await pins.list()).toMatchObject(both);
    await pins.pinListing({ server: 'other', account: '' }, [{ tool: 'late', ...seen('one') }]);
    expect(await pins.list()).toHaveLength(3);
  });

  test('a held definition is dismissed by its digest, with a row, and is then gone', async () => {
    const store = await open();
    const { pins } = store;
    const { revision } = await pins.pinFirst(place, seen('one'));
    await pins.hold(place, seen('two'), undefined);
    await pins.hold({ ...place, tool: 'fetch' }, seen('two'), undefined);
    expect(await pins.dismiss(place, 'other', row)).toBe(false);
    if (bodiesOf) expect(await bodiesOf(store, 'operators')).toEqual([]);
    expect(await pins.dismiss(place, 'two', row)).toBe(true);
    expect(await pins.dismiss({ ...place, tool: 'fetch' }, 'two', row)).toBe(true);
    expect(await pins.dismiss(place, 'two', row)).toBe(false);
    expect(await pins.list()).toMatchObject([{ ...place, pinned: seen('one'), held: undefined }]);
    expect((await pins.changed(revision)).map(({ tool, held }) => [tool, held])).toEqual([
      ['fetch', undefined],
      ['search', undefined],
    ]);
    if (bodiesOf) expect(await bodiesOf(store, 'operators')).toEqual([row.body, row.body]);
  });

  test('a held definition without a pin becomes the pin when its server is pinned', async () => {
    const { pins } = await open();
    await pins.hold(place, seen('one'), undefined);
    expect(await pins.pinFirst(place, seen('one'))).toMatchObject({ pinned: seen('one'), held: undefined });
  });

  const acme = { ...place, account: 'acme' };
  const bolt = { ...place, account: 'bolt' };

  test('C4 each account has its own first listing, and its own held definitions', async () => {
    const { pins } = await open();
    await pins.pinListing(acme, [{ tool: 'search', ...seen('one') }]);
    await pins.pinListing(bolt, [{ tool: 'search', ...seen('two') }]);
    await pins.hold(bolt, seen('three'), undefined);
    expect(await pins.list()).toMatchObject([
      { ...acme, pinned: seen('one'), held: undefined },
      { ...bolt, pinned: seen('two'), held: seen('three') },
    ]);
    expect(await pins.changed(0)).toMatchObject([
      { account: 'acme', pinned: 'one' },
      { account: 'bolt', held: 'three' },
    ]);
  });

  test('C4 an approval covers every account with the same held definition, and no other', async () => {
    const store = await open();
    const { pins } = store;
    const cyn = { ...place, account: 'cyn' };
    for (const one of [acme, bolt]) await pins.hold(one, seen('one'), undefined);
    await pins.hold(cyn, seen('other'), undefined);
    const approved = await pins.approve(place, { digest: 'one', by: 'ada', at: 9 }, row);
    expect(approved.map(({ account }) => account)).toEqual(['acme', 'bolt']);
    expect(await pins.list()).toMatchObject([
      { ...acme, pinned: { digest: 'one', by: 'ada' }, held: undefined },
      { ...bolt, pinned: { digest: 'one', by: 'ada' }, held: undefined },
      { ...cyn, pinned: undefined, held: seen('other') },
    ]);
    if (bodiesOf) expect(await bodiesOf(store, 'operators')).toEqual([row.body]);
    await pins.hold(bolt, seen('other'), undefined);
    expect(await pins.dismiss(place, 'other', row)).toBe(true);
    expect((await pins.list()).filter(({ held }) => held)).toEqual([]);
  });

  test('C4 an approval for one account that is newer than the pin of another covers that account, too', async () => {
    const { pins } = await open();
    await pins.hold(acme, seen('two'), undefined);
    await pins.pinFirst(bolt, seen('one'));
    expect(await pins.pinApproved(bolt, 'two')).toBeUndefined();
    await pins.approve(place, { digest: 'two', by: 'ada', at: 9 }, row);
    expect(await pins.pinApproved(bolt, 'three')).toBeUndefined();
    expect(await pins.pinApproved(bolt, 'two')).toMatchObject({
      ...bolt,
      pinned: { ...seen('two'), at: 9, by: 'ada' },
      held: undefined,
    });
    expect(await pins.pinApproved({ ...place, account: 'new' }, 'two')).toMatchObject({ account: 'new' });
    await pins.hold(bolt, seen('three'), undefined);
    await pins.approve(place, { digest: 'three', by: 'ada', at: 10 }, row);
    // The account that was not asked about still has the older one, which must not come back here.
    expect(await pins.pinApproved(bolt, 'two')).toBeUndefined();
    expect(await pins.pinApproved(acme, 'three')).toMatchObject({ pinned: { digest: 'three' } });
  });

  test('C4 a definition that was never approved for one account does not count for another', async () => {
    const { pins } = await open();
    await pins.pinFirst(acme, seen('one'));
    expect(await pins.pinApproved(bolt, 'one')).toBeUndefined();
  });

  test('C4 a pin without an account covers accounts that have no pin of their own', async () => {
    const { pins } = await open();
    await pins.pinFirst(place, seen('one'));
    await pins.pinListing(acme, [{ tool: 'late', ...seen('two') }]);
    expect(await pins.pinFirst(acme, seen('two'))).toMatchObject({ ...acme, pinned: { digest: 'one' } });
    expect(await pins.hold(bolt, seen('one'), undefined)).toBeUndefined();
    expect(await pins.hold(bolt, seen('two'), undefined)).toMatchObject({
      ...bolt,
      pinned: { digest: 'one' },
      held: seen('two'),
    });
    expect((await pins.list()).every(({ tool }) => tool === 'search')).toBe(true);
  });

  test('a reader gets the changes since its last read, and is notified of new ones', async () => {
    const { pins } = await open();
    const before = await pins.pinFirst(place, seen('one'));
    const other = await pins.pinFirst({ ...place, tool: 'fetch' }, seen('one'));
    const { revision } = other;
    expect(await pins.changed(before.revision)).toEqual([
      { ...place, tool: 'fetch', pinned: 'one', held: undefined, revision },
    ]);
    expect(await pins.changed(revision)).toEqual([]);
    await pins.hold(place, seen('two'), undefined);
    const told = vi.fn();
    const stop = pins.watch(told);
    await pins.approve(place, { digest: 'two', by: 'ada', at: 9 }, row);
    expect(told).toHaveBeenCalled();
    expect((await pins.changed(revision)).map(({ tool, pinned }) => [tool, pinned])).toEqual([
      ['search', 'two'],
    ]);
    stop();
  });
}
