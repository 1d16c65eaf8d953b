import { TASKS_EXTENSION } from '../../core/requirement.ts';
import { SKILLS_EXTENSION } from '../../core/resources/skill.ts';
import type { JsonObject } from '../wire/json-rpc.ts';
import { metaKeys } from '../wire/meta.ts';
import type { Implementation, Revision } from './revision.ts';

// Lists depend on the caller, so they must not be shared.
const CACHE = { ttlMs: 5_000, cacheScope: 'private' };

/** The stateless revision: every request carries all it needs. */
export const revision20260728: Revision = {
  version: '2026-07-28',
  era: 'modern',
  methods: new Set([
    'server/discover',
    'tools/list',
    'tools/call',
    'resources/list',
    'resources/templates/list',
    'resources/read',
    'resources/directory/read',
    'skills/list',
    'skills/get',
    'prompts/list',
    'prompts/get',
    'completion/complete',
    'subscriptions/listen',
    'tasks/get',
    'tasks/update',
    'tasks/cancel',
  ]),
  features: {
    toolAnnotations: true,
    titles: true,
    structured: 'any',
    icons: true,
    audio: true,
    resourceLinks: true,
    paramHeaders: true,
    progressMessages: true,
    completionsCapability: true,
    elicitation: 'modes',
    batches: false,
    resumableFromStart: false,
  },

  introduce({ info, instructions, capabilities, supportedVersions }) {
    const { changes, resources, prompts, skills } = capabilities;
    const body = {
      supportedVersions,
      capabilities: {
        tools: changes ? { listChanged: true } : {},
        ...(resources && { resources: changes ? { subscribe: true, listChanged: true } : {} }),
        ...(prompts && { prompts: changes ? { listChanged: true } : {} }),
        ...((resources || prompts) && { completions: {} }),
        logging: {},
        extensions: { [TASKS_EXTENSION]: {}, ...(skills && { [SKILLS_EXTENSION]: { directoryRead: true } }) },
      },
      instructions,
    };
    return this.frame(body, info, 'cacheable');
  },

  frame: (body, info, cacheable) => ({
    resultType: 'complete',
    ...body,
    ...(cacheable && CACHE),
    _meta: { ...(body['_meta'] as JsonObject | undefined), ...serverMeta(info) },
  }),

  lead: '"resultType":"complete",',

  writeMeta(meta, info) {
    if (meta) return JSON.stringify({ ...meta, ...serverMeta(info) });
    let text = serverMetaTexts.get(info);
    if (text === undefined) serverMetaTexts.set(info, (text = JSON.stringify(serverMeta(info))));
    return text;
  },
};

const serverMetaTexts = new WeakMap<Implementation, string>();

function serverMeta(info: Implementation): JsonObject {
  return { [metaKeys.serverInfo]: info };
}
