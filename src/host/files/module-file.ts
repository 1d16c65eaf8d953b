import { dirname, resolve } from 'node:path';
import { Overdue, within } from '../../base/within.ts';
import { aboutFile, type Complaint } from '../../config/complaint.ts';
import { describeIssue } from '../../config/describe-issue.ts';
import type { ServerEntry } from '../../config/servers.ts';
import { unreadable } from '../../config/settings-text.ts';
import type { About, Path } from '../../config/yaml-text.ts';
import { agentFileSchema } from './agent-schema.ts';
import { ownAgents, type ReadAgents } from './own-agent.ts';

const LOAD_MS = 10_000;

/** Reads agents from what a TypeScript or JavaScript module exports by default; its code runs. */
export async function moduleAgents(
  file: string,
  servers: Readonly<Record<string, ServerEntry>>,
): Promise<ReadAgents> {
  const complain = (path: Path, about: About): Complaint => aboutFile(file, { ...about, path });
  let value: unknown;
  try {
    value = await within(LOAD_MS, undefined, defaultExport(resolve(file)));
  } catch (error) {
    return { configs: [], complaints: [failure(file, error)] };
  }
  const schema = agentFileSchema(value);
  const checked = schema.safeParse(value);
  if (!checked.success) {
    const findings = checked.error.issues.flatMap((issue) => describeIssue(issue, schema, value));
    return { configs: [], complaints: findings.map((finding) => complain(finding.path, finding)) };
  }
  return ownAgents(checked.data, { file, folder: dirname(resolve(file)), servers, complain });
}

async function defaultExport(file: string): Promise<unknown> {
  const { createJiti } = await import('jiti');
  const jiti = createJiti(file, { moduleCache: false, fsCache: false, alias: {}, tsconfigPaths: false });
  const exports = await jiti.import<Readonly<Record<string, unknown>>>(file);
  return exports['default'];
}

function failure(file: string, error: unknown): Complaint {
  if (error instanceof Overdue)
    return aboutFile(file, {
      message: `It was not loaded after ${LOAD_MS / 1_000} seconds`,
      remedy: 'await less in it',
    });
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'EISDIR') return unreadable(file, error, 'agent.ts');
  const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
  return aboutFile(file, { message: `The module cannot be loaded: ${reason}` });
}
