import type { JsonObject } from '../wire/json-rpc.ts';
import type { Features, Introduction, Revision } from './revision.ts';

/** The methods all handshake revisions share. */
const legacyMethods: readonly string[] = [
  'initialize',
  'ping',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
];

/** Makes a handshake revision: they differ only in their features. */
export function legacyRevision(version: string, features: Features): Revision {
  return {
    version,
    era: 'legacy',
    methods: new Set(legacyMethods),
    features,
    introduce: (introduction) => introduce(version, features, introduction),
    frame: (body) => body,
    lead: '',
    writeMeta: (meta) => meta && JSON.stringify(meta),
  };
}

function introduce(
  version: string,
  features: Features,
  { info, instructions, capabilities }: Introduction,
): JsonObject {
  const { changes, resources, prompts } = capabilities;
  const { title: _title, ...plain } = info;
  return {
    protocolVersion: version,
    capabilities: {
      tools: changes ? { listChanged: true } : {},
      ...(resources && { resources: changes ? { subscribe: true, listChanged: true } : {} }),
      ...(prompts && { prompts: changes ? { listChanged: true } : {} }),
      ...((resources || prompts) && features.completionsCapability && { completions: {} }),
      logging: {},
    },
    serverInfo: features.titles ? info : plain,
    instructions,
  };
}
