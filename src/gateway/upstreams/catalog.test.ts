import { expect, test } from 'vitest';
import { createFakeClock } from '../../testing.ts';
import { Catalog, type CatalogParts } from './catalog.ts';
import { Pool } from './pool.ts';

const FIRST_LIST_MS = 60_000;

/** The catalog of a server that accepts connections and then says nothing. */
function catalogOfSilent(): { catalog: Catalog; advance: (ms: number) => void } {
  const clock = createFakeClock();
  const connection = new Pool(clock, { maxConnections: 1, maxPerTenant: 1 }).connection({
    upstream: 'silent',
    tenant: undefined,
    idleMs: Infinity,
    lifetimeMs: Infinity,
    open: () => new Promise(() => {}),
    onOpened() {},
    onEnded() {},
  });
  const parts: CatalogParts = {
    connection: () => connection,
    clock,
    relistMs: () => 300_000,
    firstListMs: () => FIRST_LIST_MS,
    callMs: () => FIRST_LIST_MS,
    clean: (item) => item,
    isClean: () => true,
    onChange() {},
    onListed() {},
    onWarning() {},
  };
  return { catalog: new Catalog(parts), advance: (ms) => clock.advance(ms) };
}

test('a server that does not answer delays lists once, and not each of them', () => {
  const { catalog, advance } = catalogOfSilent();
  expect(catalog.known()).toBeInstanceOf(Promise);
  advance(FIRST_LIST_MS / 2);
  expect(catalog.known()).toBeInstanceOf(Promise);
  advance(FIRST_LIST_MS / 2);
  expect(catalog.known()).toMatchObject({ tools: [] });
  expect(catalog.current()).toMatchObject({ tools: [] });
});
