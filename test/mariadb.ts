import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createConnection } from 'mysql2';
import { databaseModel } from './database-model.ts';
import { within } from './within.ts';

/** A MariaDB server of its own, in a folder that is gone afterwards. */
export interface MariaDbServer {
  readonly port: number;
  /** How to connect as a user without a password; the owner of everything is `root`. */
  url(user?: string, database?: string): string;
  /** Runs statements as the owner, with names in double quotes, and returns the rows of the last one. */
  run(sql: string): Promise<readonly Record<string, unknown>[]>;
  stop(): Promise<void>;
}

const READY_MS = 30_000;
const SERVER = '/usr/sbin/mariadbd';
const SETUP = '/usr/bin/mariadb-install-db';
const SMALL = [
  '--innodb-log-file-size=4M',
  '--innodb-flush-log-at-trx-commit=0',
  '--innodb-use-native-aio=0',
];

/** Whether MariaDB is installed; without it tests are skipped, or fail where everything is required. */
export function hasMariaDb(): boolean {
  return existsSync(SERVER) && existsSync(SETUP);
}

/** Starts a server on a free port of 127.0.0.1, as a user without rights. */
export async function startMariaDb(): Promise<MariaDbServer> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-mariadb-'));
  const owner = unprivileged();
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid);
  const setting = { ...owner, cwd: folder, env: { PATH: process.env['PATH'], TMPDIR: folder } };
  const data = join(folder, 'data');
  execFileSync('cp', ['-a', modelOf(owner), data], { timeout: READY_MS });
  const port = await freePort();
  const server = spawn(
    SERVER,
    [
      '--no-defaults',
      `--datadir=${data}`,
      `--socket=${join(folder, 'socket')}`,
      `--pid-file=${join(folder, 'pid')}`,
      `--port=${port}`,
      '--bind-address=127.0.0.1',
      '--skip-name-resolve',
      '--character-set-server=utf8mb4',
      ...SMALL,
      `--tmpdir=${folder}`,
    ],
    { ...setting, stdio: 'ignore' },
  );
  const stop = async (): Promise<void> => {
    if (server.exitCode === null && server.signalCode === null) {
      server.kill('SIGKILL');
      await within(READY_MS, 'MariaDB stops', once(server, 'exit'));
    }
    rmSync(folder, { recursive: true, force: true });
  };
  const patience = performance.now() + READY_MS;
  for (;;) {
    try {
      await runOnce(port, undefined, 'create database if not exists shop');
      break;
    } catch (error) {
      if (server.exitCode === null && performance.now() < patience) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      await stop();
      throw error;
    }
  }
  return {
    port,
    url: (user = 'root', database = 'shop') => `mysql://${user}@127.0.0.1:${port}/${database}`,
    run: (sql) => runOnce(port, 'shop', sql),
    stop,
  };
}

function modelOf(owner: { uid?: number; gid?: number }): string {
  return databaseModel(`mariadb-${Math.round(statSync(SERVER).mtimeMs)}`, (data) => {
    const folder = dirname(data);
    if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid);
    const setting = { ...owner, cwd: folder, env: { PATH: process.env['PATH'], TMPDIR: folder } };
    const root = '--auth-root-authentication-method=normal';
    const args = ['--no-defaults', `--datadir=${data}`, root, ...SMALL, `--tmpdir=${folder}`];
    execFileSync(SETUP, args, { ...setting, stdio: 'ignore', timeout: READY_MS });
  });
}

async function runOnce(
  port: number,
  database: string | undefined,
  sql: string,
): Promise<readonly Record<string, unknown>[]> {
  const client = createConnection({
    host: '127.0.0.1',
    port,
    user: 'root',
    ...(database !== undefined && { database }),
    multipleStatements: true,
    connectTimeout: READY_MS,
  });
  client.on('error', () => {});
  try {
    return await new Promise((proceed, refuse) => {
      client.query(`set sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'; ${sql}`, (error, answers) =>
        error ? refuse(error) : proceed((answers as unknown[]).at(-1) as Record<string, unknown>[]),
      );
    });
  } finally {
    client.destroy();
  }
}

// MariaDB refuses to run as root.
function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
