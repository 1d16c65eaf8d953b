import { SqliteDatabase } from '../../../src/store/sqlite/database.ts';
import { Client } from '../client.ts';
import { Crib } from '../crib.ts';
import type { Outcome, RunOptions, Scenario } from '../scenario.ts';

/** Sessions that are never ended do not pile up. */
export const hoardedSessions: Scenario = {
  id: 'A8',
  title: 'the number of sessions that are never ended is limited',
  run: (options) => hoard(options, { sessions: options.counts === 'full' ? 100_000 : 5_000, callers: 1 }),
  // Several callers, who may have as many each, hold more than one may.
  control: (options) => hoard(options, { sessions: 2_000, callers: 4 }),
};

const PER_CALLER = 1_000;
const LANES = 32;

async function hoard(
  { report }: RunOptions,
  { sessions, callers }: { sessions: number; callers: number },
): Promise<Outcome> {
  const crib = new Crib({ auth: { keys: {} }, access: [{ roles: ['tester'], tools: ['*'] }] });
  try {
    const keys = await crib.admit(
      Array.from({ length: callers }, (_, index) => ({ tenant: 'acme', caller: `c${index}` })),
    );
    const serving = await crib.start();
    const clients = keys.map(({ key }) => new Client({ port: serving.port, key, connections: LANES }));
    const opened: string[] = [];
    let last = 0;
    const lane = async (): Promise<void> => {
      while (last < sessions) opened.push(await initialize(clients[last++ % callers]!));
    };
    await Promise.all(Array.from({ length: LANES }, lane));
    const kept = countSessions(crib);
    const [oldest, newest] = [
      await use(clients[0]!, opened[0]!),
      await use(clients[(sessions - 1) % callers]!, opened.at(-1)!),
    ];
    for (const client of clients) client.close();
    report(
      `${opened.length} sessions opened, ${kept} kept; the oldest answers ${oldest}, the newest ${newest}`,
    );
    const failures = [];
    if (kept > PER_CALLER) failures.push(`${kept} sessions are kept`);
    if (oldest !== 404) failures.push(`the oldest session answers ${oldest}`);
    if (newest !== 200) failures.push(`the newest session answers ${newest}`);
    return { counts: `${sessions} sessions opened, ${kept} kept`, failures };
  } finally {
    await crib.close();
  }
}

async function initialize(client: Client): Promise<string> {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'hoarder', version: '1' },
  };
  const { response } = await client.post(
    JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }),
    {},
  );
  return String(response.headers['mcp-session-id']);
}

async function use(client: Client, session: string): Promise<number> {
  const headers = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' };
  const { response } = await client.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }), headers);
  return response.statusCode ?? 0;
}

function countSessions(crib: Crib): number {
  const db = new SqliteDatabase(crib.path('toolcrib.db'), 'existing');
  try {
    return db.get<{ count: number }>('select count(*) as count from sessions')!.count;
  } finally {
    db.close();
  }
}
