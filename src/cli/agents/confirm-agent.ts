import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { canonicalJson } from '../../base/canonical-json.ts';
import { parseJson } from '../../base/parse-json.ts';
import { concealValues } from '../../config/expand.ts';
import { ImportReader } from '../../gateway/modules/import-graph.ts';
import type { AgentConfig, AgentServer } from '../../host/agent-config.ts';
import type { ResolvedModel } from '../../host/models/resolve-model.ts';
import { confirmOnce } from '../servers/confirm-once.ts';
import { printable } from '../table.ts';
import type { OwnToolsFile } from './own-tools.ts';

/** An agent of a file, and what it would be given. */
export interface AgentToConfirm {
  readonly config: AgentConfig;
  /** Where its model is, and which variable is sent there; `undefined` where no model is asked. */
  readonly model: ResolvedModel | undefined;
  /** Values that must not be shown. */
  readonly secrets: readonly string[];
  readonly ownTools: OwnToolsFile | undefined;
}

/** Asks once for each content before programs of an agent's file are started, or keys are sent where it says. */
export async function confirmAgent(agent: AgentToConfirm): Promise<void> {
  const { config, model, secrets, ownTools } = agent;
  const deeds = deedsOf(agent);
  if (deeds.length === 0) return;
  const from = config.file === undefined ? '' : ` of ${printable(config.file)}`;
  const shown = [`The agent ${printable(config.name)}${from}`, ...deeds.map((deed) => `  ${deed}`)];
  const content = canonicalJson(
    parseJson(JSON.stringify([process.cwd(), config, model ?? null, (await ownTools?.digest()) ?? null])),
  );
  await confirmOnce({
    kind: 'approved-agents',
    shown: concealValues(shown.join('\n'), secrets),
    digest: createHash('sha256').update(content).digest('base64url'),
  });
}

/** Asks once for each content before a module that describes an agent is run, with everything that it imports. */
export async function confirmModule(file: string): Promise<void> {
  const { files, places, digest } = new ImportReader().graph(resolve(file));
  const others = files.length === 1 ? '' : `, with ${files.length - 1} more that it imports`;
  const isMadeUp = places.some(({ kind }) => kind === 'anywhere');
  const again = isMadeUp ? ' It makes up names of imports while it runs, so you are asked each time.' : '';
  await confirmOnce({
    kind: 'approved-agents',
    shown: `${printable(file)} is a module${others}: reading it runs it, and it may do anything.${again}`,
    digest: createHash('sha256')
      .update(`${resolve(file)}\n${digest}`)
      .digest('base64url'),
  });
}

function deedsOf({ config, model, ownTools }: AgentToConfirm): readonly string[] {
  const servers = Object.entries(config.servers).filter(([, { entry }]) => !entry.disabled);
  return [
    ...(ownTools ? [printable(ownTools.deed)] : []),
    ...servers.map(([name, server]) => deedOf(name, server)),
    ...modelDeeds(config, model),
  ];
}

function deedOf(name: string, { entry, trust }: AgentServer): string {
  const trusted = trust === 'trusted' ? ', and believes what it says of its tools' : '';
  if ('command' in entry) {
    // Variables and the folder decide what a command does as much as its words.
    const variables = Object.entries(entry.env).map(([key, value]) => `${key}=${value}`);
    const place = entry.cwd === undefined ? [] : [`(in ${entry.cwd})`];
    const words = [...variables, entry.command, ...entry.args, ...place].map(printable).join(' ');
    return `starts ${printable(name)}: ${words}${trusted}`;
  }
  const headers = Object.keys(entry.headers);
  const sent = headers.length > 0 ? `, sends it ${headers.map(printable).join(', ')}` : '';
  return `connects to ${printable(name)} at ${printable(entry.url)}${sent}${trusted}`;
}

// A file that names an address and a variable could send any variable to any host.
function modelDeeds({ model: named }: AgentConfig, model: ResolvedModel | undefined): readonly string[] {
  if (!model || (named.baseUrl === undefined && named.keyVariable === undefined)) return [];
  const host = model.baseUrl === undefined ? 'its provider' : new URL(model.baseUrl).host;
  const key = model.keyVariable === undefined ? 'no key' : `the content of $${model.keyVariable}`;
  return [`asks the model ${printable(model.name)} at ${printable(host)}, and sends it ${printable(key)}`];
}
