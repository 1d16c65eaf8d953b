import { ToolcribError } from '../../base/errors.ts';
import { resourceNotFound } from '../../core/resources/resource.ts';
import { andThen, type Awaitable } from '../../base/awaitable.ts';
import {
  encodePrompt,
  encodeResource,
  encodeTemplate,
  encodeTool,
} from '../../protocol/encode/definition.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { readCursor, readLogLevel, readResumption, readTaskId, readUri } from '../../protocol/wire/params.ts';
import { modernVersions } from '../../protocol/revisions/revisions.ts';
import { requireCapabilities } from './asking.ts';
import { faceOf } from './face.ts';
import { roomFor } from '../sessions/followed.ts';
import { Lists, type ListKind } from './lists.ts';
import type { Subscriptions } from '../sessions/listen.ts';
import type { ServerParts } from '../parts.ts';
import { Readings } from './readings.ts';
import { Runner } from './runner.ts';
import type { Settled } from '../settled.ts';
import { encodeTask } from './tasks.ts';
import { ToolCalls } from './tool-calls.ts';

const MAX_SUBSCRIBED = 1_000;

/** Answers one method: the encoded result, as text or bytes. */
export type Method = (settled: Settled) => Awaitable<string | Buffer>;

/** Every method this server has, by name; which of them a client sees depends on its revision. */
export function createMethods(parts: ServerParts, subscriptions: Subscriptions): ReadonlyMap<string, Method> {
  const runner = new Runner(parts);
  const tools = new ToolCalls(parts, runner);
  const readings = new Readings(parts, runner);
  return new Map<string, Method>([
    ['tools/call', (settled) => tools.call(settled)],
    ['resources/read', (settled) => readings.readResource(settled)],
    ['prompts/get', (settled) => readings.getPrompt(settled)],
    ['completion/complete', (settled) => readings.complete(settled)],
    ['ping', () => '{}'],
    ['initialize', (settled) => introduce(settled, parts)],
    ['server/discover', (settled) => introduce(settled, parts)],
    ['logging/setLevel', setLevel],
    ...listMethods(parts),
    ...subscriptionMethods(parts, subscriptions),
    ...taskMethods(parts),
  ]);
}

function introduce(
  { revision, link }: Settled,
  { info, instructions, source, announcer }: ServerParts,
): string {
  const capabilities = {
    // Changes are announced only where they are delivered: on a session, or to whoever opens a subscription.
    changes: announcer.works && (revision.era === 'modern' || link.session !== undefined),
    resources: source.resources !== undefined,
    prompts: source.prompts !== undefined,
  };
  return JSON.stringify(
    revision.introduce({ info, instructions, capabilities, supportedVersions: modernVersions }),
  );
}

function setLevel({ message, link }: Settled): string {
  const level = readLogLevel(message.params?.['level']);
  if (link.session) link.session.logLevel = level;
  return '{}';
}

function listMethods(parts: ServerParts): [string, Method][] {
  const lists = new Lists(parts);
  const { source } = parts;
  const lister =
    <T>(kind: ListKind<T>, list: (settled: Settled) => Awaitable<readonly T[]>): Method =>
    (settled) => {
      const cursor = readCursor(settled.message.params);
      return andThen(list(settled), (items) =>
        lists.page(items, kind, { revision: settled.revision, cursor }),
      );
    };
  return [
    [
      'tools/list',
      lister({ member: 'tools', keyOf: ({ name }) => name, encode: encodeTool }, ({ link }) =>
        source.list(link.caller),
      ),
    ],
    [
      'resources/list',
      lister({ member: 'resources', keyOf: ({ uri }) => uri, encode: encodeResource }, (settled) =>
        faceOf(source.resources, settled).list(settled.link.caller),
      ),
    ],
    [
      'resources/templates/list',
      lister(
        { member: 'resourceTemplates', keyOf: ({ uriTemplate }) => uriTemplate, encode: encodeTemplate },
        (settled) => faceOf(source.resources, settled).templates(settled.link.caller),
      ),
    ],
    [
      'prompts/list',
      lister({ member: 'prompts', keyOf: ({ name }) => name, encode: encodePrompt }, (settled) =>
        faceOf(source.prompts, settled).list(settled.link.caller),
      ),
    ],
  ];
}

function subscriptionMethods(
  { source, announcer, info }: ServerParts,
  subscriptions: Subscriptions,
): [string, Method][] {
  const subscribe: Method = async (settled) => {
    const { message, link } = settled;
    const resources = faceOf(source.resources, settled);
    const uri = readUri(message.params);
    if (!(await resources.find(uri, link.caller))) throw resourceNotFound(uri);
    if (link.session && link.session.subscriptions.size >= MAX_SUBSCRIBED) {
      throw new ToolcribError('too_many', `A session may subscribe to at most ${MAX_SUBSCRIBED} resources.`);
    }
    link.session?.follow(uri, () => subscriptions.followed.take(link.caller, roomFor([uri])));
    return '{}';
  };
  const unsubscribe: Method = (settled) => {
    const { message, link } = settled;
    faceOf(source.resources, settled);
    link.session?.unfollow(readUri(message.params));
    return '{}';
  };
  const listen: Method = async (settled) => {
    const { works } = announcer;
    const audible = {
      tools: works,
      prompts: works && source.prompts !== undefined,
      resources: works && source.resources !== undefined,
    };
    return JSON.stringify(settled.revision.frame(await subscriptions.listen(settled, audible), info));
  };
  return [
    ['resources/subscribe', subscribe],
    ['resources/unsubscribe', unsubscribe],
    ['subscriptions/listen', listen],
  ];
}

function taskMethods({ tasks, info }: ServerParts): [string, Method][] {
  const about =
    (work: (id: string, settled: Settled) => Promise<JsonObject>): Method =>
    async (settled) => {
      requireCapabilities(['tasks'], settled);
      return JSON.stringify(
        settled.revision.frame(await work(readTaskId(settled.message.params), settled), info),
      );
    };
  return [
    ['tasks/get', about(async (id, { link }) => encodeTask(await tasks.find(id, link.caller)))],
    [
      'tasks/update',
      about(async (id, { link, message }) => {
        await tasks.update(id, link.caller, readResumption(message.params)?.responses ?? {});
        return {};
      }),
    ],
    [
      'tasks/cancel',
      about(async (id, { link }) => {
        await tasks.cancel(id, link.caller);
        return {};
      }),
    ],
  ];
}
