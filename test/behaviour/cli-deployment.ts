import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { absentTool } from '../../src/core/absent-tool.ts';
import { withStages } from '../../src/core/stage.ts';
import { ToolRegistry } from '../../src/core/registry.ts';
import { audit } from '../../src/stages/record/audit.ts';
import { openSecrets } from '../../src/store/secrets-file.ts';
import { SqliteDatabase } from '../../src/store/sqlite/database.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { ada, callOf } from '../recorded-calls.ts';
import { borrowBuiltWorker } from '../store-worker.ts';
import { runCommandLine, runProcess, type Run } from './run-command-line.ts';

/** A deployment of its own, and the commands that look after it. */
export function deployment(config = 'store: { url: "sqlite:./toolcrib.db", secrets: ./toolcrib.secrets }\n') {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'toolcrib.yaml');
  writeFileSync(file, config);
  const place = (name: string): string => join(folder, `toolcrib.${name}`);
  const whole = (args: readonly string[]): readonly string[] =>
    args.includes('--config') ? args : [...args, '--config', file];
  const run = (...args: readonly string[]): Promise<Run> => runCommandLine(whole(args));
  return {
    folder,
    place,
    run,
    /** Runs a command in a process of its own, which lets go of everything when it ends. */
    runAlone: (args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Run> =>
      runProcess(whole(args), env),
    json: async (...args: readonly string[]): Promise<unknown> =>
      JSON.parse((await run(...args, '--json')).output),
    async rows(...args: readonly string[]): Promise<Record<string, unknown>[]> {
      const { output } = await run('audit', 'export', ...args);
      return output
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    /** Puts rows on record as they are. */
    async write(entries: readonly (readonly [chain: string, facts: object])[]) {
      const { signingKey } = openSecrets(place('secrets'));
      const checkpointFiles = [place('checkpoints')];
      const worker = borrowBuiltWorker();
      const store = await openSqliteStore({ file: place('db'), signingKey, checkpointFiles, worker });
      for (const [chain, facts] of entries)
        await store.journal.append({ chain, body: JSON.stringify(facts) });
      await store.close();
    },
    /** Calls tools that are not there, as a server would put that on record. */
    async call(calls: readonly (readonly [tenant: string, caller: string, tool: string])[]) {
      const { signingKey, digestKey } = openSecrets(place('secrets'));
      const checkpointFiles = [place('checkpoints')];
      const worker = borrowBuiltWorker();
      const store = await openSqliteStore({ file: place('db'), signingKey, checkpointFiles, worker });
      const source = withStages(new ToolRegistry(), [audit({}, { journal: store.journal, digestKey })]);
      for (const [tenant, id, tool] of calls) {
        const caller = { ...ada, id, tenant: { ...ada.tenant, id: tenant } };
        await expect(async () => source.call(callOf(absentTool(tool), { caller }))).rejects.toThrow();
      }
      await store.close();
    },
    change(how: (db: SqliteDatabase) => void): void {
      const db = new SqliteDatabase(place('db'), 'existing');
      how(db);
      db.close();
    },
  };
}
