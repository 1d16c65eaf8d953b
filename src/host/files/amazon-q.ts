import { dirname } from 'node:path';
import type { AgentConfig } from '../agent-config.ts';
import {
  finishDraft,
  notHonoured,
  textsIn,
  type ForeignContext,
  type ForeignServer,
} from './foreign-draft.ts';
import type { AmazonSettings } from './foreign-schema.ts';
import { agentNameAfter } from './own-agent.ts';
import { powerIn, POWER_FIELDS } from './power-fields.ts';
import { readPromptFile } from './prompt-file.ts';

const READ: ReadonlySet<string> = new Set([
  '$schema',
  'name',
  'description',
  'prompt',
  'model',
  'mcpServers',
  'tools',
  'toolAliases',
  'resources',
  'useLegacyMcpJson',
  'includeMcpJson',
]);

/** Makes an agent of a file of Amazon Q or Kiro, where tools that are left out are not granted. */
export function amazonAgent(settings: AmazonSettings, context: ForeignContext): AgentConfig {
  const notes: string[] = [];
  const power = powerIn(settings);
  if (power.length > 0) notes.push(notHonoured(power));
  if (settings.tools === undefined)
    notes.push('The file does not list its tools: by the rule of Amazon Q and Kiro, that grants none.');
  if (Object.keys(settings.toolAliases ?? {}).length > 0)
    notes.push(
      'toolAliases: tools keep their own names here, with that of the server in front where two are the same.',
    );
  if (settings['resources'] !== undefined)
    notes.push(
      'resources: files are not put in front of the model here; put what matters into the instructions.',
    );
  const all = settings.useLegacyMcpJson === true || settings.includeMcpJson === true;
  const servers = serversOf(settings, all ? Object.keys(context.servers) : []);
  const { model } = settings;
  return finishDraft(
    {
      format: 'amazon-q',
      name: settings.name ?? agentNameAfter(context.file),
      description: settings.description ?? '',
      instructions: promptOf(settings.prompt ?? '', context),
      model: model === undefined || model === null ? {} : { name: model },
      servers,
      tools: settings.tools ?? [],
      deniedTools: [],
      inherits: false,
      agents: [],
      notes,
      unknown: Object.fromEntries(
        Object.entries(settings).filter(
          ([key]) => !READ.has(key) && !POWER_FIELDS.some((field) => field.split('.')[0] === key),
        ),
      ),
    },
    context,
  );
}

function serversOf({ mcpServers = {} }: AmazonSettings, others: readonly string[]): readonly ForeignServer[] {
  const own = Object.entries(mcpServers).map(([name, entry]) => ({
    name,
    path: ['mcpServers', name],
    entry,
    denied: textsIn(entry['disabledTools']) ?? [],
  }));
  const borrowed = others.filter((name) => !Object.hasOwn(mcpServers, name));
  return [...own, ...borrowed.map((name) => ({ name, path: [], entry: undefined }))];
}

function promptOf(prompt: string, context: ForeignContext): string {
  const path = /^file:\/\/(.+)$/.exec(prompt.trim())?.[1];
  if (path === undefined) return prompt;
  const read = readPromptFile(path, dirname(context.file), context.folder);
  if ('problem' in read) context.complaints.push(context.complain(['prompt'], { message: read.problem }));
  return 'text' in read ? read.text : '';
}
