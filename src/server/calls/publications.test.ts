import { expect, test } from 'vitest';
import { localCaller, type Caller } from '../../core/caller.ts';
import { ToolRegistry } from '../../core/registry.ts';
import { defineResource, type Resource } from '../../core/resources/resource.ts';
import { createFakeClock } from '../../testing.ts';
import { Publications } from './publications.ts';

const ada: Caller = { ...localCaller, id: 'ada' };
const bob: Caller = { ...localCaller, id: 'bob' };
const eve: Caller = { ...ada, tenant: { ...ada.tenant, id: 'evil' } };

function open() {
  const clock = createFakeClock(Date.UTC(2026, 0, 1));
  const publications = new Publications(clock);
  const { find } = publications.beside(undefined);
  const read = async (uri: string, caller: Caller): Promise<unknown> => {
    const found = await find(uri, caller);
    return found && (found.resource as Resource).read(uri, undefined as never);
  };
  return { clock, publications, read };
}

test('a published result can be read at its link, which has its media type and expiry', async () => {
  const { publications, read } = open();
  const link = publications.publish({ name: 'report', data: 'a,b', mimeType: 'text/csv' }, ada);
  expect(link).toMatchObject({
    type: 'resource_link',
    name: 'report',
    mimeType: 'text/csv',
    description: 'Available until 2026-01-01T01:00:00.000Z.',
  });
  expect(link.uri).toMatch(/^toolcrib-published:\/\/[\w-]{22}$/);
  expect(await read(link.uri, ada)).toBe('a,b');
  const described = publications.publish({ name: 'r', data: '', description: 'Sales.', ttlMs: 1_000 }, ada);
  expect(described.description).toBe('Sales. Available until 2026-01-01T00:00:01.000Z.');
});

test.each([Number.NaN, Infinity, 0, -1, 9e15])('a lifetime of %d ms is refused', (ttlMs) => {
  const { publications } = open();
  const data = 'x'.repeat(16 * 1_048_576);
  // More often than there is room for: what was refused takes none.
  for (let time = 0; time < 9; time++) {
    expect(() => publications.publish({ name: 'report', data, ttlMs }, ada)).toThrow('ttlMs must say');
  }
  expect(publications.publish({ name: 'report', data }, ada)).toMatchObject({ name: 'report' });
});

test('A9 a link works for its caller alone, and invalid and foreign links get the same response', async () => {
  const { publications, read } = open();
  const { uri } = publications.publish({ name: 'report', data: 'secret' }, ada);
  expect(await read(uri, { ...ada })).toBe('secret');
  for (const stranger of [bob, eve, localCaller]) expect(await read(uri, stranger)).toBe(undefined);
  expect(await read(`${uri}x`, ada)).toBe(undefined);
  const links = new Set<string>();
  for (let count = 0; count < 100; count++)
    links.add(publications.publish({ name: 'report', data: '' }, ada).uri);
  expect(links.size).toBe(100);
});

test('a link works until it expires', async () => {
  const { publications, read, clock } = open();
  const { uri } = publications.publish({ name: 'report', data: 'x', ttlMs: 1_000 }, ada);
  clock.advance(999);
  expect(await read(uri, ada)).toBe('x');
  clock.advance(1);
  expect(await read(uri, ada)).toBe(undefined);
});

test('A8 a caller that publishes too much loses its own oldest results, and other callers are not affected', async () => {
  const { publications, read } = open();
  const others = publications.publish({ name: 'other', data: 'x' }, ada);
  const first = publications.publish({ name: 'first', data: 'x' }, bob);
  const second = publications.publish({ name: 'second', data: 'x' }, bob);
  for (let count = 0; count < 99; count++) publications.publish({ name: 'more', data: 'x' }, bob);
  expect(await read(first.uri, bob)).toBe(undefined);
  expect(await read(second.uri, bob)).toBe('x');
  expect(await read(others.uri, ada)).toBe('x');
});

test('A8 callers of one tenant that publish as much as they can take no room from another tenant', async () => {
  const { publications, read } = open();
  const others = publications.publish({ name: 'other', data: 'x' }, eve);
  const data = 'x'.repeat(15 * 1_048_576);
  const links = Array.from({ length: 12 }, (_, n) => {
    const caller = { ...ada, id: `caller ${n % 4}` };
    return { caller, uri: publications.publish({ name: 'large', data }, caller).uri };
  });
  const left = await Promise.all(links.map(({ uri, caller }) => read(uri, caller)));
  expect(left.map((found) => found !== undefined)).toEqual([
    ...Array<boolean>(8).fill(false),
    ...Array<boolean>(4).fill(true),
  ]);
  expect(await read(others.uri, eve)).toBe('x');
  expect(publications.publish({ name: 'more', data }, eve)).toMatchObject({ name: 'more' });
});

test('A8 a result that is too large to store is refused, and gets no link', () => {
  const { publications } = open();
  const large = 'x'.repeat(17 * 1_048_576);
  expect(() => publications.publish({ name: 'large', data: large }, ada)).toThrow(/too large/);
});

test('links can be read beside the resources of the source, and are not listed', async () => {
  const { publications } = open();
  const source = new ToolRegistry().registerResource(
    defineResource({ uri: 'note://one', name: 'one' }, () => '1'),
  );
  const face = publications.beside(source.resources);
  publications.publish({ name: 'report', data: 'x' }, ada);
  expect(await face.list(ada)).toMatchObject([{ uri: 'note://one' }]);
  expect(await face.find('note://one', ada)).toMatchObject({ resource: { name: 'one' } });
  expect(await face.templates(ada)).toEqual([]);
  expect(await publications.beside(undefined).list(ada)).toEqual([]);
});
