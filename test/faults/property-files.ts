import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { summarise } from './scenario.ts';

/** Files with properties, and how many cases each of their properties is tried on. */
export interface PropertyFiles {
  readonly runs: number;
  readonly files: readonly string[];
}

/** Where the properties are that have tests of their own; those that take long are tried on fewer cases. */
export const propertyFiles: readonly PropertyFiles[] = [
  {
    runs: 100_000,
    files: [
      'src/core/definition-digest.test.ts',
      'src/observe/clean-text.test.ts',
      'src/protocol/wire/headers.test.ts',
      'src/protocol/wire/json-rpc.test.ts',
      'src/protocol/wire/json-scan.test.ts',
      'src/stages/access/condition.test.ts',
      'src/stages/cleaning/sanitize-input.test.ts',
      'src/stages/cleaning/sanitize.test.ts',
      'test/security/openapi-paths.test.ts',
    ],
  },
  {
    runs: 20_000,
    files: [
      'src/stages/access/authorize.test.ts',
      'test/security/file-jail.test.ts',
      'test/security/query-sql-postgres.test.ts',
    ],
  },
  // These bound their own time, so that more cases would only run out of it.
  { runs: 5_000, files: ['test/security/query-sql-sqlite.test.ts', 'src/store/journal/verify.test.ts'] },
];

/** Runs the tests of some files with so many cases a property; returns what failed. */
export async function tryFiles({ runs, files }: PropertyFiles): Promise<string[]> {
  const root = join(import.meta.dirname, '../..');
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', '--project=quick', '--reporter=json', `--testTimeout=${HOUR_MS}`, ...files];
  const env = { ...process.env, TOOLCRIB_PROPERTY_RUNS: String(runs) };
  const options = { cwd: root, env, maxBuffer: 64 * 1_048_576, timeout: HOUR_MS };
  const stdout = await new Promise<string>((resolve) => {
    // A run with failures ends with an error, too; what failed is in its report.
    execFile(process.execPath, args, options, (_error, text) => resolve(text));
  });
  const report = JSON.parse(/^\{[^\n]*\}$/m.exec(stdout)?.[0] ?? 'null') as Report | null;
  if (!report) return [`the tests did not run: ${stdout.slice(0, 300)}`];
  const failed = report.testResults.flatMap(({ name, status, assertionResults }) => {
    const broken = assertionResults.filter((test) => test.status === 'failed');
    if (broken.length === 0 && status === 'failed') return [name];
    return broken.map(({ fullName, failureMessages }) => `${fullName}: ${failureMessages[0]?.slice(0, 300)}`);
  });
  const missing = files.length - report.testResults.length;
  return [...summarise('tests failed', failed), ...(missing === 0 ? [] : [`${missing} files were not run`])];
}

const HOUR_MS = 3_600_000;

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}
