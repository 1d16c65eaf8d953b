import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A proxy in front of a server, reached by a socket in a folder that is gone afterwards. */
export interface Nginx {
  readonly socketPath: string;
  stop(): Promise<void>;
}

const READY_MS = 10_000;

/** Whether nginx is installed; tests without it are skipped, and counted as failed where everything is required. */
export function hasNginx(): boolean {
  return spawnSync('nginx', ['-v']).status === 0;
}

/** Starts nginx with its own defaults but for the time it waits, in front of a server at this address. */
export async function startNginx(
  upstream: string,
  { waitSeconds, http2 = false }: { readonly waitSeconds: number; readonly http2?: boolean },
): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-nginx-'));
  const socketPath = join(folder, 'socket');
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  const site = `server { listen unix:${socketPath}${http2 ? ' http2' : ''}; location / { proxy_pass ${upstream}; proxy_read_timeout ${waitSeconds}s; } }`;
  writeFileSync(
    join(folder, 'nginx.conf'),
    `pid ${join(folder, 'pid')}; events {} http { access_log off; ${paths.join(' ')} ${site} }`,
  );
  const given = ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr', '-g', 'daemon off; master_process off;'];
  const proxy = spawn('nginx', given, { stdio: 'ignore' });
  const stop = async (): Promise<void> => {
    if (proxy.exitCode === null && proxy.signalCode === null) {
      proxy.kill('SIGKILL');
      await once(proxy, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilThere(socketPath);
  } catch (error) {
    await stop();
    throw error;
  }
  return { socketPath, stop };
}

async function untilThere(socketPath: string): Promise<void> {
  const patience = performance.now() + READY_MS;
  while (!(existsSync(socketPath) && (await takesConnections(socketPath)))) {
    if (performance.now() > patience) throw new Error(`nginx was not ready within ${READY_MS} ms.`);
    await new Promise((resume) => setTimeout(resume, 20));
  }
}

async function takesConnections(socketPath: string): Promise<boolean> {
  const socket = connect(socketPath);
  const takes = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]);
  socket.destroy();
  return takes;
}
