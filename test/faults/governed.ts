import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localCaller, type Caller } from '../../src/core/caller.ts';
import { createGeneration } from '../../src/gateway/generation.ts';
import { createLasting } from '../../src/gateway/lasting.ts';
import { loadConfig } from '../../src/gateway/settings/load-config.ts';
import { systemClock, type Clock } from '../../src/base/clock.ts';
import { createInMemory } from '../../src/core/memory/in-memory.ts';
import { createInMemoryStore } from '../../src/store/memory/store.ts';
import { Secrets } from '../../src/observe/secrets.ts';
import { createServer, type Server } from '../../src/server/create-server.ts';
import type { Entry } from '../../src/store/store.ts';
import { faultTools } from './fault-tools.ts';
import { oddTools } from './odd-tools.ts';

/** The stages of a gateway with keys and rules in this process, with its store in memory. */
export interface Governed {
  readonly server: Server;
  readonly caller: Caller;
  /** The rows so far; a test that makes very many calls empties the list. */
  readonly entries: Entry[];
  close(): Promise<void>;
}

/** Opens one; its caller needs no key, so that every message gets as far as possible. */
export async function openGoverned(clock: Clock = systemClock): Promise<Governed> {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-fuzz-'));
  writeFileSync(join(folder, 'fault-tools.mjs'), faultTools(join(folder, 'notes')));
  writeFileSync(join(folder, 'odd-tools.mjs'), oddTools());
  writeFileSync(
    join(folder, 'toolcrib.yaml'),
    JSON.stringify({
      store: { url: 'memory:' },
      tools: { modules: ['./*.mjs'] },
      auth: { keys: {} },
      access: [{ roles: ['tester'], tools: ['*'], prompts: ['*'], resources: ['*'] }],
      stages: { rateLimit: false },
    }),
  );
  const loaded = await loadConfig(join(folder, 'toolcrib.yaml'));
  const log = (): void => {};
  const store = createInMemoryStore({ clock: systemClock, memory: createInMemory(systemClock) });
  const secrets = { pepper: 'p'.repeat(32), digestKey: 'd'.repeat(32) };
  const lasting = { ...createLasting({ store, secrets }, log, new Secrets()), clock };
  const generation = await createGeneration(loaded, { lasting, version: '1.0.0', watch: false });
  const caller = { ...localCaller, roles: ['tester'] };
  const server = createServer({
    source: generation.source,
    name: 'fuzzed',
    version: '1.0.0',
    authenticate: () => caller,
    allowedHosts: ['127.0.0.1'],
    memory: lasting.store.memory,
    requestsPerMinute: 1_000_000_000,
    onRefusal: (refusal) => generation.stages.refuse(refusal),
    log,
  });
  return {
    server,
    caller,
    entries: store.entries as Entry[],
    async close() {
      server.close();
      generation.authentication?.signIn.close();
      await generation.close();
      await lasting.store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
