import { once } from 'node:events';
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ConfigInput } from '../../src/gateway/settings/config.ts';
import { processesOf } from '../databases.ts';
import { openCrib, type Crib } from '../gateway.ts';
import { hasPostgres, startPostgres, type PostgresServer } from '../postgres.ts';
import { propertyRuns } from '../property-runs.ts';

const CALLS = propertyRuns(100, 30);
const CANCELLED = Array.from({ length: CALLS }, () => 'cancelled');
// One second is the promise; a busy machine gets more before the test gives up.
const PATIENCE = { timeout: 10_000, interval: 50 };

interface Runaway {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  /** How much is under way behind the tool, seen from outside. */
  readonly underWay: (crib: Crib) => Promise<number> | number;
}

let postgres: PostgresServer | undefined;

beforeAll(async () => {
  if (!hasPostgres()) return;
  postgres = await startPostgres();
  await postgres.run(
    'create table numbers as select generate_series(1, 10000) as n; create role reader login; grant select on numbers to reader',
  );
}, 60_000);

afterAll(() => postgres?.stop());

const folder = mkdtempSync(join(tmpdir(), 'toolcrib-runaway-'));
const file = join(folder, 'numbers.db');

beforeAll(() => {
  const db = new Libsql(file);
  db.exec(
    'create view endless as with recursive n(x) as (select 1 union all select x + 1 from n) select count(*) as id from n',
  );
  db.close();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const sockets = new Set<Socket>();
const silent = createServer((socket) => {
  sockets.add(
    socket
      .resume()
      .on('close', () => sockets.delete(socket))
      .on('error', () => {}),
  );
});

beforeAll(async () => {
  await once(silent.listen(0, '127.0.0.1'), 'listening');
});

afterAll(() => {
  for (const socket of sockets) socket.destroy();
  silent.close();
});

const command: Runaway = {
  name: 'run_command',
  arguments: { command: 'wait' },
  underWay: (crib) =>
    readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && folderOf(pid) === crib.path('work')).length,
};

const request: Runaway = {
  name: 'fetch_api_data',
  get arguments() {
    return { url: silentOrigin(), timeout: 60 };
  },
  underWay: () => sockets.size,
};

const sqlite: Runaway = {
  name: 'query_database',
  arguments: { table: 'endless' },
  underWay: () => processesOf(file).length,
};

const query: Runaway = {
  name: 'query_sql',
  arguments: { query: 'select count(*) from numbers a, numbers b, numbers c, numbers d' },
  underWay: async () => {
    const [row] = await postgres!.run(
      "select count(*)::int as n from pg_stat_activity where state = 'active' and usename = 'reader'",
    );
    return row!['n'] as number;
  },
};

describe.each([command, request, sqlite])('$name', (runaway) => {
  test('D5 a call whose client disconnects ends where it runs, and leaves nothing behind', async () => {
    expect(await leave(runaway)).toEqual(CANCELLED);
  }, 60_000);
});

describe.skipIf(!hasPostgres())('query_sql', () => {
  test('D5 a query whose client disconnects ends in the database, and leaves nothing behind', async () => {
    expect(await leave(query)).toEqual(CANCELLED);
  }, 60_000);
});

// Control: while the clients stay connected, the calls continue.
async function leave(runaway: Runaway): Promise<readonly unknown[]> {
  const crib = await openCrib({ config: offering(), files: { 'work/note.txt': '' } });
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const calls = Array.from({ length: CALLS }, () => call(crib, runaway, leaving.signal).catch(() => 'left'));
  await vi.waitFor(async () => expect(await runaway.underWay(crib)).toBeGreaterThan(0), PATIENCE);
  leaving.abort();
  await vi.waitFor(async () => expect(await runaway.underWay(crib)).toBe(0), PATIENCE);
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['left']));
  const ended = () => crib.rowsOf(runaway.name).flatMap(({ outcome }) => outcome ?? []);
  await vi.waitFor(() => expect(ended()).toHaveLength(CALLS), PATIENCE);
  return ended();
}

async function call(crib: Crib, { name, arguments: args }: Runaway, signal: AbortSignal): Promise<unknown> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const response = await fetch(crib.url, {
    method: 'POST',
    signal,
    headers: {
      authorization: `Bearer ${crib.keys.ada}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args, _meta: meta },
    }),
  });
  return response.json();
}

function offering(): ConfigInput {
  const wait = { file: '/usr/bin/sleep', description: 'Waits.', args: ['1000'] };
  return {
    tools: {
      ready: {
        run_command: { folder: './work', timeoutSeconds: 600, commands: { wait } },
        fetch_api_data: { hosts: ['127.0.0.1'], trustedOrigins: [silentOrigin()], timeoutSeconds: 60 },
        query_database: { url: `sqlite:${file}`, tables: ['endless'], timeoutSeconds: 300 },
        ...(postgres && {
          query_sql: { url: postgres.url('reader'), tables: ['numbers'], timeoutSeconds: 300 },
        }),
      },
    },
    stages: {
      concurrency: { perCaller: CALLS, perTenant: CALLS },
      rateLimit: { perMinute: 6_000 },
      timeout: { seconds: 600 },
    },
  };
}

function silentOrigin(): string {
  return `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
}

function folderOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}
