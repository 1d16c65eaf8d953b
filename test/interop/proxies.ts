import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';

/** The name that the deployment files serve. */
export const NAME = 'tools.acme.example';
const READY_MS = 15_000;

/** A proxy with a certificate in front of a server. */
export interface Proxy {
  readonly port: number;
  /** The authority that signed its certificate. */
  readonly ca: string;
  stop(): Promise<void>;
}

/** Whether a program is installed; tests without it are skipped. */
export function hasProgram(name: string): boolean {
  return spawnSync('which', [name]).status === 0;
}

const deployed = (file: string): string =>
  readFileSync(join(import.meta.dirname, '../../deploy', file), 'utf8');

/** Starts Debian's nginx with the file of this project, at another port and with a certificate of its own. */
export async function startDeployedNginx(upstream: string): Promise<Proxy> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-nginx-'));
  const port = await freePort();
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const subject = ['-subj', `/CN=${NAME}`, '-addext', `subjectAltName=DNS:${NAME}`, '-days', '1', '-nodes'];
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', ...subject];
  spawnSync('openssl', [...made, '-keyout', key, '-out', certificate], { timeout: READY_MS });
  const site = deployed('nginx.conf')
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace(/.*listen \[::\]:443.*\n/, '')
    .replace(/ssl_certificate \S+;/, `ssl_certificate ${certificate};`)
    .replace(/ssl_certificate_key \S+;/, `ssl_certificate_key ${key};`)
    .replace('http://127.0.0.1:8484', upstream);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  const whole = `pid ${join(folder, 'pid')}; events {} http { access_log off; ${temporary.join(' ')}\n${site}}`;
  writeFileSync(join(folder, 'nginx.conf'), whole);
  const flags = ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr', '-g', 'daemon off; master_process off;'];
  const child = spawn('nginx', flags, { stdio: 'ignore' });
  return whenReady({ child, folder, port, ca: certificate });
}

/** Starts Debian's Caddy with the file of this project, at another port and with a certificate of its own authority. */
export async function startDeployedCaddy(upstream: string): Promise<Proxy> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-caddy-'));
  const port = await freePort();
  const site = deployed('Caddyfile')
    .replace(`${NAME} {`, `https://${NAME}:${port} {\n\tbind 127.0.0.1\n\ttls internal`)
    .replace('127.0.0.1:8484', new URL(upstream).host);
  const file = join(folder, 'Caddyfile');
  writeFileSync(file, `{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n}\n${site}`);
  mkdirSync(join(folder, 'data'));
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: join(folder, 'data'), XDG_CONFIG_HOME: folder };
  const child = spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], { stdio: 'ignore', env });
  return whenReady({ child, folder, port, ca: join(folder, 'data/caddy/pki/authorities/local/root.crt') });
}

interface Started {
  readonly child: ChildProcess;
  readonly folder: string;
  readonly port: number;
  readonly ca: string;
}

async function whenReady({ child, folder, port, ca }: Started): Promise<Proxy> {
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  };
  const patience = performance.now() + READY_MS;
  while (!(existsSync(ca) && (await takesConnections(port, readFileSync(ca, 'utf8'))))) {
    if (performance.now() > patience || child.exitCode !== null) {
      await stop();
      throw new Error(`The proxy was not ready within ${READY_MS} ms.`);
    }
    await new Promise((resume) => setTimeout(resume, 50));
  }
  return { port, ca: readFileSync(ca, 'utf8'), stop };
}

async function takesConnections(port: number, ca: string): Promise<boolean> {
  const socket = connect({ host: '127.0.0.1', port, ca, servername: NAME });
  const takes = await once(socket, 'secureConnect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return takes;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  const port = await new Promise<number>((resolve) => {
    probe.listen(0, '127.0.0.1', () => resolve((probe.address() as { port: number }).port));
  });
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
