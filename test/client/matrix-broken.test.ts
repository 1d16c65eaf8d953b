import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Client } from '../../src/index.ts';
import { firstFew } from '../property-runs.ts';
import { within } from '../within.ts';
import { cells, openCell, type OpenCell } from './cells.ts';
import { forwardTo, type Forwarder } from './forwarder.ts';

const overHttp = cells.filter(({ transport }) => transport === 'HTTP');

describe.each(firstFew(overHttp, 2))('on $version over $transport', (cell) => {
  let opened: OpenCell;
  let client: Client;
  let between: Forwarder;
  let direct: string;

  beforeAll(async () => {
    const through = async (url: string): Promise<string> => {
      direct = url;
      between = await forwardTo(url);
      return between.url;
    };
    opened = await openCell(cell, 'library.mjs', { through });
    ({ client } = opened);
  });
  afterAll(async () => {
    await opened.close();
    await between.close();
  });

  test('a call whose connection breaks is resumed where there is a session, and is not sent twice elsewhere', async () => {
    let progressed = (): void => {};
    const isUnderWay = new Promise<void>((resolve) => (progressed = resolve));
    const call = client.callTool('stay', {}, { onProgress: () => progressed() });
    const outcome = call.text().catch((error: unknown) => (error as { code?: unknown }).code);
    await within(5_000, 'the call to be under way', isUnderWay);
    between.cut();
    if (cell.era === 'modern') {
      expect(await within(5_000, 'the call to fail', outcome)).toBe('upstream_unavailable');
      return;
    }
    // By then the client has noticed that its other connections are closed, too.
    await within(5_000, 'the server to be reached again', client.request('ping'));
    expect(await client.callTool('go').text()).toBe('gone');
    expect(await within(10_000, 'the call to be resumed', outcome)).toBe('went');
  });

  test('after every connection broke, the next call works', async () => {
    between.cut();
    client.refresh();
    expect(await within(10_000, 'the list', client.listTools())).toHaveLength(6);
    expect(await within(10_000, 'the call', client.callTool('touch').text())).toBe('touched');
  });

  test('a session that the server forgets is opened again, and what was followed is followed again', async () => {
    await client.subscribe('note://one');
    const { session } = between;
    if (session !== undefined)
      await fetch(direct, {
        method: 'DELETE',
        headers: { 'mcp-session-id': session, 'mcp-protocol-version': cell.version },
      });
    const told: unknown[] = [];
    client.on('resourceUpdated', (update) => told.push(update));
    const touch = async (): Promise<void> => {
      while (told.length === 0) await client.callTool('touch');
    };
    await within(10_000, 'the update', touch());
    expect(told[0]).toEqual({ uri: 'note://one' });
    expect(session === undefined || between.session !== session).toBe(true);
    expect(session !== undefined).toBe(cell.era === 'legacy');
  });
});
