import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Client } from 'pg';
import { databaseModel } from './database-model.ts';
import { within } from './within.ts';

/** A PostgreSQL server of its own, in a folder that is gone afterwards. */
export interface PostgresServer {
  readonly port: number;
  /** How to connect as a role; the owner of everything is `postgres`. Passwords are asked of nobody. */
  url(role?: string, database?: string): string;
  /** Runs statements as the owner and returns the rows of the last one. */
  run(sql: string, database?: string): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

const READY_MS = 20_000;

/** Whether PostgreSQL is installed; without it tests are skipped, or fail where everything is required. */
export function hasPostgres(): boolean {
  return binaries() !== undefined;
}

/** Starts a server on a free port of 127.0.0.1. */
export async function startPostgres(): Promise<PostgresServer> {
  const bin = binaries();
  if (bin === undefined) throw new Error('PostgreSQL is not installed: apt-get install postgresql.');
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-postgres-'));
  const owner = unprivileged();
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid);
  const data = join(folder, 'data');
  execFileSync('cp', ['-a', modelOf(bin), data], { timeout: READY_MS });
  const port = await freePort();
  const settings = ['listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`, 'fsync=off'];
  const server = spawn(
    join(bin, 'postgres'),
    ['-D', data, '-p', String(port), ...settings.flatMap((one) => ['-c', one])],
    {
      ...settingOf(folder),
      stdio: 'ignore',
    },
  );
  const url: PostgresServer['url'] = (role = 'postgres', database = 'postgres') =>
    `postgres://${role}@127.0.0.1:${port}/${database}`;
  const stop = async (): Promise<void> => {
    if (server.exitCode === null && server.signalCode === null) {
      server.kill('SIGQUIT');
      await within(READY_MS, 'PostgreSQL stops', once(server, 'exit'));
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(server, url());
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, url, stop, run: (sql, database) => runOnce(url('postgres', database), sql) };
}

function modelOf(bin: string): string {
  return databaseModel(`postgres-${basename(dirname(bin))}`, (data) => {
    const folder = dirname(data);
    const owner = unprivileged();
    if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid);
    execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '-N'], {
      ...settingOf(folder),
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: READY_MS,
    });
  });
}

/** In which a program of PostgreSQL is run: as nobody special, in a folder it may enter. */
function settingOf(folder: string) {
  return { ...unprivileged(), cwd: folder, env: { LC_ALL: 'C.UTF-8', PATH: process.env['PATH'] } };
}

async function untilReady(server: ChildProcess, url: string): Promise<void> {
  const patience = performance.now() + READY_MS;
  for (;;) {
    try {
      await runOnce(url, 'select 1');
      return;
    } catch (error) {
      if (server.exitCode !== null || performance.now() > patience) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

async function runOnce(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: READY_MS,
    query_timeout: READY_MS,
  });
  await client.connect();
  try {
    const answer: unknown = await client.query(sql);
    const last = Array.isArray(answer) ? (answer.at(-1) as unknown) : answer;
    return (last as { rows: Record<string, unknown>[] }).rows;
  } finally {
    await client.end();
  }
}

// PostgreSQL refuses to run as root.
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

function binaries(): string | undefined {
  const base = '/usr/lib/postgresql';
  if (!existsSync(base)) return undefined;
  const versions = readdirSync(base).toSorted((a, b) => Number(b) - Number(a));
  return versions.map((version) => join(base, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb')));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
