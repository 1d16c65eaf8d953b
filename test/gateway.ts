import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  createGateway,
  loadConfig,
  openSecrets,
  openSqliteStore,
  type ConfigInput,
  type Gateway,
} from '../src/gateway.ts';
import type { OnToolCall } from '../src/stages.ts';
import type { Prompt, Resource, ResourceTemplate, Tool } from '../src/index.ts';
import { createApiKey, hashKey } from '../src/node.ts';
import { readJournal } from '../src/store/journal/reader.ts';
import { SqliteDatabase } from '../src/store/sqlite/database.ts';
import { revisions, type RevisionUnderTest } from './behaviour/matrix.ts';
import { openPeer, type Json, type Peer } from './behaviour/peer.ts';
import { openWeb } from './behaviour/wires.ts';
import { borrowBuiltWorker } from './store-worker.ts';

/** Something a module can offer. */
export type Offer = Tool<never> | Resource | ResourceTemplate | Prompt;

/** Somebody with a key. */
export interface KeyHolder {
  readonly tenant: string;
  readonly id: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
}

/** The callers with a key: two colleagues, one of another tenant, and one there with the same name as the first. */
export const holders = {
  ada: { tenant: 'north', id: 'ada', roles: ['staff', 'lead'], scopes: [] },
  'ada again': { tenant: 'north', id: 'ada', roles: ['staff', 'lead'], scopes: [] },
  bob: { tenant: 'north', id: 'bob', roles: ['staff'], scopes: [] },
  guest: { tenant: 'north', id: 'guest', roles: ['guest'], scopes: [] },
  watcher: { tenant: 'north', id: 'watcher', roles: [], scopes: ['metrics'] },
  cyn: { tenant: 'south', id: 'cyn', roles: ['staff'], scopes: [] },
  'other ada': { tenant: 'south', id: 'ada', roles: ['staff'], scopes: [] },
} as const satisfies Record<string, KeyHolder>;

/** The name of a caller with a key. */
export type Holder = keyof typeof holders;

/** What a gateway is made from. */
export interface CribSetup {
  /** Sections of the configuration, in the place of those it has by default. */
  readonly config?: ConfigInput;
  /** Whether anybody on this machine may call it, without keys and rules. */
  readonly open?: boolean;
  /** What its module offers, as it is. */
  readonly offers?: readonly Offer[];
  /** Files of its folder, by path. */
  readonly files?: Readonly<Record<string, string>>;
  /** Whether files with tools are watched. */
  readonly watch?: boolean;
  /** Asks a person about calls. */
  readonly onToolCall?: OnToolCall;
  /** What the environment holds when the configuration is read. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A row of the record with the chain it is in. */
export type RecordRow = Json & { readonly chain: string; readonly seq: number };

/** How a client connects. */
export interface ConnectOptions {
  readonly version?: string;
  readonly capabilities?: Json;
}

/** A gateway in a folder of its own, with everybody's keys. */
export interface Crib {
  readonly folder: string;
  readonly gateway: Gateway;
  readonly url: string;
  readonly port: number;
  readonly keys: Readonly<Record<Holder, string>>;
  readonly logged: { level: string; message: string; facts: Json | undefined }[];
  /** Connects as a caller, by default with the newest revision. */
  connect(as: Holder, options?: ConnectOptions): Promise<Peer>;
  /** Every row so far, oldest first, apart from those of its starts and stops. */
  rows(): RecordRow[];
  /** The rows of one tool. */
  rowsOf(tool: string): RecordRow[];
  /** A file of the folder. */
  path(name: string): string;
  /** Writes another configuration without putting it to use. */
  configure(config: ConfigInput): void;
  /** Puts what the file says to use. */
  reload(): Promise<void>;
  /** The same gateway after a stop and a start. */
  restart(): Promise<void>;
}

/** The offers of each folder, where its module finds them. */
const OFFERS = Symbol.for('toolcrib.test.offers');
const offersOf = ((globalThis as Record<symbol, unknown>)[OFFERS] ??= new Map()) as Map<
  string,
  readonly Offer[]
>;

/** Everybody who is staff may do everything. */
export const everythingForStaff = { roles: ['staff'], tools: ['*'], prompts: ['*'], resources: ['*'] };

/** Opens a gateway on a free port; it ends with the test. */
export async function openCrib(setup: CribSetup = {}): Promise<Crib> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-gateway-'));
  onTestFinished(() => {
    offersOf.delete(folder);
    rmSync(folder, { recursive: true, force: true });
  });
  const crib = new OpenCrib(folder, setup);
  await crib.open();
  onTestFinished(() => crib.gateway.close());
  return crib;
}

let admitted: Promise<{ folder: string; keys: Record<Holder, string> }> | undefined;

/** Makes the keys and tenants of everybody in the database of a folder. */
export async function admitAll(folder: string): Promise<Record<Holder, string>> {
  // Made once and copied: every store is a thread to start and to end.
  admitted ??= (async () => {
    const model = mkdtempSync(join(tmpdir(), 'toolcrib-model-'));
    process.once('exit', () => rmSync(model, { recursive: true, force: true }));
    return { folder: model, keys: await admitInto(model) };
  })();
  const { folder: model, keys } = await admitted;
  cpSync(model, folder, { recursive: true });
  return keys;
}

async function admitInto(folder: string): Promise<Record<Holder, string>> {
  const { pepper, signingKey } = openSecrets(join(folder, 'toolcrib.secrets'));
  const store = await openSqliteStore({
    file: join(folder, 'toolcrib.db'),
    signingKey,
    checkpointFiles: [join(folder, 'toolcrib.checkpoints')],
    worker: borrowBuiltWorker(),
  });
  await store.identities.putTenant({ id: 'north', name: 'North', data: { plan: 'pro' }, disabled: false });
  await store.identities.putTenant({ id: 'south', name: '', data: {}, disabled: false });
  const keys = Object.keys(holders).map((name): [string, string] => [name, createApiKey()]);
  await Promise.all(
    keys.map(([name, key], index) => {
      const { id: caller, ...holder } = holders[name as Holder];
      const never = { expiresAt: undefined, revokedAt: undefined, lastUsedAt: undefined };
      const record = { id: `key_${index}`, hash: hashKey(key, pepper), caller, createdAt: 1, ...never };
      return store.identities.putKey({ ...record, ...holder });
    }),
  );
  await store.close();
  return Object.fromEntries(keys) as Record<Holder, string>;
}

/** Every row of the record in a folder, oldest first, apart from those of starts and stops. */
export function readRows(folder: string): RecordRow[] {
  return readAllRows(folder).filter(({ kind }) => kind !== 'start' && kind !== 'stop');
}

/** Every row of the record in a folder, oldest first. */
export function readAllRows(folder: string): RecordRow[] {
  const db = new SqliteDatabase(join(folder, 'toolcrib.db'), 'existing');
  try {
    const rows = readJournal(db, { order: 'oldest', limit: Number.MAX_SAFE_INTEGER });
    return Array.from(rows, ({ chain, seq, facts }) => ({ chain, seq, ...facts }));
  } finally {
    db.close();
  }
}

/** The revision of a version. */
export function revisionOf(version: string): RevisionUnderTest {
  return revisions.find((revision) => revision.version === version)!;
}

class OpenCrib implements Crib {
  readonly folder: string;
  readonly logged: Crib['logged'] = [];
  gateway!: Gateway;
  url = '';
  port = 0;
  keys!: Record<Holder, string>;
  readonly #setup: CribSetup;

  constructor(folder: string, setup: CribSetup) {
    this.folder = folder;
    this.#setup = setup;
    const { offers = [], files = {}, config = {} } = setup;
    offersOf.set(folder, offers);
    const place = `globalThis[Symbol.for('toolcrib.test.offers')].get(${JSON.stringify(folder)})`;
    this.#write('tools/offers.mjs', offers.length > 0 ? `export const offers = ${place};` : '');
    for (const [name, text] of Object.entries(files)) this.#write(name, text);
    this.configure(config);
  }

  async open(): Promise<void> {
    this.keys = await admitAll(this.folder);
    await this.#start();
  }

  async connect(
    as: Holder,
    { version = '2026-07-28', capabilities = {} }: ConnectOptions = {},
  ): Promise<Peer> {
    const { era } = revisionOf(version);
    const wire = openWeb(
      this.url,
      { version, era },
      {
        send: (request) => fetch(request),
        close: async () => {},
        keepsSession: era === 'legacy',
        headers: { authorization: `Bearer ${this.keys[as]}` },
      },
    );
    return openPeer(wire, { version, era, capabilities });
  }

  rows(): RecordRow[] {
    return readRows(this.folder);
  }

  rowsOf(tool: string): RecordRow[] {
    return this.rows().filter((row) => row['tool'] === tool);
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  configure(config: ConfigInput): void {
    const hasOffers = (this.#setup.offers ?? []).length > 0;
    const modules = hasOffers ? ['./tools/offers.mjs'] : [];
    const whole: ConfigInput = {
      tools: { modules, ready: {} },
      ...(!this.#setup.open && { auth: { keys: {} }, access: [everythingForStaff] }),
      ...config,
      // A busy machine takes long to start a program.
      ...(config.mcpServers && { upstreams: { firstListSeconds: 60, ...config.upstreams } }),
      server: { listen: '127.0.0.1:0', drainSeconds: 0, ...config.server },
    };
    this.#write('toolcrib.yaml', JSON.stringify(whole, undefined, 2));
  }

  async reload(): Promise<void> {
    await this.gateway.reload(await this.#load());
  }

  async restart(): Promise<void> {
    await this.gateway.close();
    await this.#start();
  }

  async #start(): Promise<void> {
    const loaded = await this.#load();
    const isInMemory = loaded.config.store.url === 'memory:';
    this.gateway = await createGateway(loaded, {
      version: '1.2.3',
      storeWorker: isInMemory ? undefined : borrowBuiltWorker(),
      watch: this.#setup.watch ?? false,
      ...(this.#setup.onToolCall && { onToolCall: this.#setup.onToolCall }),
      log: (level, message, facts) => this.logged.push({ level, message, facts }),
    });
    const listening = await this.gateway.listen();
    this.url = listening.url;
    this.port = Number(new URL(listening.url).port);
  }

  #load(): ReturnType<typeof loadConfig> {
    const { env } = this.#setup;
    return loadConfig(this.path('toolcrib.yaml'), env && { env });
  }

  #write(name: string, text: string): void {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), text);
  }
}
