import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { projectFolder } from './machine.ts';
import { startProcess, stopProcess } from './process.ts';
import { progress } from './progress.ts';
import { type BenchRequest, callMessage, openSession } from './requests.ts';
import type { HttpTarget } from './target-process.ts';
import { verifyCall } from './verify.ts';

/** A proxy that other people wrote, in front of a stdio server, with a request it answers. */
export interface Proxy {
  readonly target: HttpTarget;
  readonly request: BenchRequest;
}

/** A proxy that can be installed from npm. */
export interface ProxySpec {
  readonly name: string;
  readonly version: string;
  readonly path: string;
  readonly bin: string;
  arguments(port: number, command: readonly string[]): readonly string[];
}

/** The proxies people put in front of a stdio server today. */
export const proxySpecs: readonly ProxySpec[] = [
  {
    name: 'mcp-proxy',
    version: '6.7.19',
    path: '/mcp',
    bin: 'mcp-proxy',
    arguments: (port, command) => [
      '--host',
      '127.0.0.1',
      '--port',
      `${port}`,
      '--server',
      'stream',
      '--',
      ...command,
    ],
  },
  {
    name: 'supergateway',
    version: '4.0.0',
    path: '/mcp',
    bin: 'supergateway',
    arguments: (port, command) => [
      '--stdio',
      command.map((word) => `'${word}'`).join(' '),
      '--outputTransport',
      'streamableHttp',
      '--stateful',
      '--port',
      `${port}`,
      '--logLevel',
      'none',
    ],
  },
];

const READY_MS = 30_000;

/** Installs a proxy outside of our dependencies and starts it; `undefined` where that cannot be, which is told. */
export async function startProxy(spec: ProxySpec, command: readonly string[]): Promise<Proxy | undefined> {
  try {
    const folder = install(spec);
    const port = await freePort();
    const bin = join(folder, 'node_modules', '.bin', spec.bin);
    const child = startProcess(process.execPath, [bin, ...spec.arguments(port, command)], 'ignore');
    const target = {
      name: `${spec.name} ${spec.version}`,
      url: `http://127.0.0.1:${port}${spec.path}`,
      child,
    };
    try {
      const request = await sessionRequest(target.url);
      await verifyCall(target, 'echo', request);
      return { target, request };
    } catch (error) {
      await stopProcess(child);
      throw error;
    }
  } catch (error) {
    progress(`not run: ${spec.name}. ${String(error).split('\n')[0]}`);
    return undefined;
  }
}

function install({ name, version }: ProxySpec): string {
  const folder = join(projectFolder, 'node_modules', '.cache', 'toolcrib', `bench-${name}-${version}`);
  const done = join(folder, 'installed');
  if (existsSync(done) && readFileSync(done, 'utf8') === version) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ private: true, dependencies: { [name]: version } }),
  );
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--omit=optional'];
  execFileSync('npm', ['install', ...flags], { cwd: folder, timeout: 120_000, stdio: 'ignore' });
  writeFileSync(done, version);
  return folder;
}

async function sessionRequest(url: string): Promise<BenchRequest> {
  const until = performance.now() + READY_MS;
  for (;;) {
    try {
      const session = await openSession(url);
      return {
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2025-11-25',
          'mcp-session-id': session,
        },
        body: JSON.stringify(callMessage(1, 'echo', '2025-06-18')),
      };
    } catch (error) {
      if (performance.now() > until) throw error;
      await sleep(100);
    }
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  const port = await new Promise<number>((resolve) => {
    probe.listen(0, '127.0.0.1', () => resolve((probe.address() as { port: number }).port));
  });
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
