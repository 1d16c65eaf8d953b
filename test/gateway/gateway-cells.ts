import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { ToolNotFound, type Client } from '../../src/index.ts';
import { revisions, type RevisionUnderTest } from '../behaviour/matrix.ts';
import { open } from '../client/peers.ts';
import { openCrib, revisionOf, type Crib } from '../gateway.ts';
import { within } from '../within.ts';
import { programs } from './holdings.ts';
import { commandOf } from './process-counts.ts';
import { workbench } from './upstream-programs.ts';

/** How a gateway speaks to a server: its revision, and over what. */
export type FarWay = (typeof farWays)[number];

/** A client of one revision, with tasks or without, and a server behind a gateway. */
export interface GatewayCell {
  readonly version: string;
  readonly tasks: boolean;
  readonly far: FarWay;
}

const farWays = [
  '2026-07-28 http',
  '2026-07-28 stdio',
  '2025-11-25 http',
  '2025-11-25 stdio',
  '2024-11-05 sse',
] as const;

/** Every cell. */
export const gatewayCells: readonly GatewayCell[] = revisions.flatMap(({ version, era }) =>
  (era === 'modern' ? [false, true] : [false]).flatMap((tasks) =>
    farWays.map((far) => ({ version, tasks, far })),
  ),
);

/** A few of them, in which every revision, transport and way to ask is met once. */
export const someGatewayCells: readonly GatewayCell[] = [
  { version: '2026-07-28', tasks: false, far: '2025-11-25 stdio' },
  { version: '2026-07-28', tasks: true, far: '2025-11-25 http' },
  { version: '2025-11-25', tasks: false, far: '2026-07-28 http' },
  { version: '2025-06-18', tasks: false, far: '2024-11-05 sse' },
  { version: '2024-11-05', tasks: false, far: '2026-07-28 stdio' },
];

/** States what a client sees of a server through a gateway, in every cell. */
export function describeGateway(cells: readonly GatewayCell[]): void {
  test.each(cells.map((cell) => [titleOf(cell), cell] as const))(
    '%s',
    { timeout: 60_000 },
    async (_title, cell) => {
      const { client, crib, asked } = await openCell(cell);
      const saw = [await plainCalls(client), await questions(client, crib), await endings(client, crib)];
      expect(Object.assign({}, ...saw)).toEqual(expectedIn(cell));
      expect(asked).toEqual(canAsk(cell) ? Array.from({ length: 3 }, () => 'far: Colour?') : []);
    },
  );
}

/** A cell in words. */
export function titleOf({ version, tasks, far }: GatewayCell): string {
  return `a client of ${version}${tasks ? ' with tasks' : ''} uses a server of ${far} through a gateway`;
}

function expectedIn(cell: GatewayCell): object {
  return {
    ...plainIn(cell),
    question: canAsk(cell) ? 'red' : refusedIn(cell),
    'two questions': canAsk(cell) ? 'red, red' : refusedIn(cell),
    sampling: 'said',
    task: 'worked',
    failure: expect.stringMatching(/^failed: .*no luck/s),
    unknown: ['unknown_tool', -32602],
    cancel: 'cancelled',
    'list change': true,
  };
}

/** What those calls end with in a cell. */
export function plainIn(cell: GatewayCell): object {
  const { near, far } = revisionsOf(cell);
  const isTold = near.messages && far.messages;
  return {
    plain: 'plain',
    progress: [
      'counted',
      { progress: 1, total: 2, ...(isTold && { message: 'half' }) },
      { progress: 2, total: 2 },
    ],
    large: true,
    image: [{ mimeType: 'image/png', data: Uint8Array.of(1, 2, 3) }],
  };
}

function revisionsOf({ version, far }: GatewayCell): { near: RevisionUnderTest; far: RevisionUnderTest } {
  return { near: revisionOf(version), far: revisionOf(far.split(' ')[0]!) };
}

/** Whether a person can be asked in a cell. */
export function canAsk(cell: GatewayCell): boolean {
  return Object.values(revisionsOf(cell)).every(({ asks }) => asks !== 'not');
}

// Where the gateway refuses, the record has its code; a server that cannot ask by itself says so in a failed result.
function refusedIn(cell: GatewayCell): unknown {
  const { near, far } = revisionsOf(cell);
  if (far.era === 'modern')
    return `cannot_ask: This needs to ask the user, and protocol version ${near.version} has no way to.`;
  if (far.asks === 'not')
    return `failed: This needs to ask the user, and protocol version ${far.version} has no way to.`;
  return 'failed: The client could not answer a question that this needs.';
}

/** What calls end with that nobody is asked in. */
export async function plainCalls(client: Client): Promise<object> {
  const steps: unknown[] = [];
  const counted = await client.callTool('count', {}, { onProgress: (step) => steps.push(step) }).text();
  return {
    plain: await client.callTool('plain').text(),
    progress: [counted, ...steps],
    large: (await client.callTool('large').text()) === 'ä'.repeat(500_000),
    image: await client.callTool('image').images(),
  };
}

async function questions(client: Client, crib: Crib): Promise<object> {
  return {
    question: await endOf('fill', client, crib),
    'two questions': await endOf('fill_twice', client, crib),
    sampling: await endOf('ask', client, crib),
    task: await endOf('job', client, crib),
  };
}

async function endings(client: Client, crib: Crib): Promise<object> {
  return {
    failure: await endOf('fail', client, crib),
    unknown: await client.callTool('nothing').catch(codesOf),
    cancel: await cancel(client),
    'list change': await change(client),
  };
}

function codesOf(error: unknown): unknown {
  return error instanceof ToolNotFound && [error.code, error.number];
}

/** What a call ends with: its text, or what the record says of it with its text. */
async function endOf(name: string, client: Client, crib: Crib): Promise<string> {
  const result = await client.callTool(name);
  const outcome = String(crib.rowsOf(`far.${name}`).at(-1)!['outcome']);
  return result.isError ? `${outcome}: ${result.text()}` : result.text();
}

/** Gives a call up, and has the server tell that it heard of that. */
export async function cancel(client: Client): Promise<string> {
  const caller = new AbortController();
  const onProgress = (): void => caller.abort(new Error('enough'));
  const call = client.callTool('wait', {}, { signal: caller.signal, onProgress });
  await expect(within(5_000, 'the call to end', call)).rejects.toMatchObject({ code: 'cancelled' });
  return client.callTool('hear').text();
}

async function change(client: Client): Promise<boolean> {
  const before = (await client.listTools()).length;
  let told = 0;
  client.on('toolsChanged', (tools) => (told = tools?.length ?? 0));
  const grow = (): number => {
    // Each program of an older server has a list of its own, and all are told: a caller's own is not the one listed.
    for (const pid of programs())
      if (commandOf(pid).some((word) => word.endsWith('workbench.mjs'))) process.kill(pid, 'SIGUSR2');
    return told;
  };
  // The stream for changes may not be open yet, so changes are made until one is announced.
  await expect.poll(grow, { timeout: 15_000, interval: 100 }).toBeGreaterThan(before);
  return true;
}

async function openCell({ version, tasks, far }: GatewayCell): Promise<{
  readonly client: Client;
  readonly crib: Crib;
  readonly asked: readonly string[];
}> {
  const asked: string[] = [];
  const crib = await openCrib({
    config: {
      // Pins would hold the tools that the server adds.
      mcpServers: { far: { ...(await entryOf(far)), pin: 'off' } },
      stages: { sanitize: { maxBytes: 2_000_000 } },
    },
  });
  const client = await open(crib.url, {
    protocol: version,
    tasks,
    headers: { authorization: `Bearer ${crib.keys.ada}` },
    handlers: {
      form: ({ message }) => {
        asked.push(message);
        return { action: 'accept', content: { colour: 'red' } };
      },
      sample: () => ({ role: 'assistant', model: 'parrot', content: { type: 'text', text: 'said' } }),
    },
  });
  expect(client.server.protocolVersion).toBe(version);
  return { client, crib, asked };
}

/** The entry for a server of this kind, which ends with the test. */
export async function entryOf(far: FarWay): Promise<ReturnType<typeof workbench>> {
  const [protocol, way] = far.split(' ') as [never, string];
  if (way === 'stdio') return workbench({ protocol });
  const url = await startWorkbench();
  return way === 'sse' ? { type: 'sse', protocol, url: url.replace(/mcp$/, 'sse') } : { url, protocol };
}

/** Starts the server in a process of its own; it ends with the test. */
async function startWorkbench(): Promise<string> {
  const script = fileURLToPath(new URL('../client/fixtures/workbench.mjs', import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const first = new Promise<string>((resolve) =>
    createInterface({ input: child.stdout }).once('line', resolve),
  );
  return within(15_000, 'the server to start', first);
}
