import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createJiti } from 'jiti';
import { onTestFinished } from 'vitest';
import type { ConfigInput } from '../src/gateway/settings/config.ts';
import { cli, startNode, type Child } from './behaviour/child.ts';
import { runCommandLine } from './behaviour/run-command-line.ts';
import { openPeer, type Json, type Peer } from './behaviour/peer.ts';
import { openWeb } from './behaviour/wires.ts';
import { admitAll, everythingForStaff, revisionOf, type Holder } from './gateway.ts';

/** What the built server is started on. */
export interface ServedSetup {
  readonly config?: ConfigInput;
  /** Files of its folder, by path; those in `tools` are its modules. */
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** The built server, in a process and a folder of its own. */
export interface Served {
  readonly child: Child;
  readonly folder: string;
  readonly url: string;
  readonly port: number;
  readonly keys: Record<Holder, string>;
  /** What it wrote to standard output when it had started. */
  readonly greeting: string;
  connect(as: Holder, options?: { readonly version?: string; readonly capabilities?: Json }): Promise<Peer>;
  /** Puts another configuration in the place of the one it has. */
  configure(config: ConfigInput): void;
  /** Runs another command on the same folder, and returns all it wrote. */
  command(...args: readonly string[]): Promise<string>;
}

/** Starts the built server; it ends with the test. */
export async function serve(setup: ServedSetup = {}): Promise<Served> {
  const folder = prepare(setup);
  const keys = await admitAll(folder);
  const file = join(folder, 'toolcrib.yaml');
  const child = startNode([cli, 'serve', '--config', file], setup.env);
  const greeting = await child.outputUntil('Ctrl-C');
  const url = /http:\/\/127\.0\.0\.1:\d+\/mcp/.exec(greeting)![0];
  return {
    child,
    folder,
    url,
    port: Number(new URL(url).port),
    keys,
    greeting,
    configure: (changed) => write(folder, changed),
    connect(as, { version = '2026-07-28', capabilities = {} } = {}) {
      const { era } = revisionOf(version);
      const headers = { authorization: `Bearer ${keys[as]}` };
      const web = { send: (request: Request) => fetch(request), close: async () => {}, headers };
      const wire = openWeb(url, { version, era }, { ...web, keepsSession: era === 'legacy' });
      return openPeer(wire, { version, era, capabilities });
    },
    async command(...args) {
      const { output, complaints } = await runCommandLine([...args, '--config', file], setup.env);
      return output + complaints;
    },
  };
}

/** Makes a folder for the built server, which goes when the test is over. */
export function prepare({ config = {}, files = {} }: ServedSetup): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-served-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  write(folder, config);
  compile(folder, Object.keys(files));
  return folder;
}

// Servers use what was compiled before; loading the compiler would take each of them a third of its start.
function compile(folder: string, names: readonly string[]): void {
  const fsCache = join(folder, 'node_modules/.cache/toolcrib');
  const jiti = createJiti(join(folder, 'toolcrib.js'), { fsCache, moduleCache: false, alias: {} });
  for (const name of names.filter((each) => /\.m?ts$/.test(each))) {
    const filename = join(folder, name);
    jiti.transform({ filename, source: readFileSync(filename, 'utf8'), ts: true, async: true });
  }
}

function write(folder: string, config: ConfigInput): void {
  const whole = {
    server: { listen: '127.0.0.1:0' },
    tools: { modules: ['./tools/*.ts'], ready: {} },
    auth: { keys: {} },
    access: [everythingForStaff],
    ...config,
  };
  writeFileSync(join(folder, 'toolcrib.yaml'), JSON.stringify(whole, undefined, 2));
}
