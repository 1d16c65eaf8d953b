import { notedLongIntegers, writeWithLongIntegers } from '../../base/exact-json.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { Caller } from '../../core/caller.ts';
import { resourceNotFound } from '../../core/resources/resource.ts';
import type { ToolSource } from '../../core/source.ts';
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
import { Lists, type ListKind } from './lists.ts';
import { roomFor, type Subscriptions } from '../sessions/listen.ts';
import type { ServerParts } from '../parts.ts';
import { faceOf, ResourceAndPromptCalls } from './resources-and-prompts.ts';
import { Runner } from './run.ts';
import { skillMethods } from './skills.ts';
import type { UnderstoodRequest } from '../request.ts';
import { encodeTask } from './tasks.ts';
import { ToolCalls } from './tool-calls.ts';

const MAX_SUBSCRIBED = 1_000;

/** Answers one method: the encoded result, as text or bytes. */
export type Method = (request: UnderstoodRequest) => Awaitable<string | Buffer>;

/** Every method this server has, by name; which of them a client sees depends on its revision. */
export function createMethods(parts: ServerParts, subscriptions: Subscriptions): ReadonlyMap<string, Method> {
  const runner = new Runner(parts);
  const tools = new ToolCalls(parts, runner);
  const others = new ResourceAndPromptCalls(parts, runner);
  const lists = new Lists(parts);
  return new Map<string, Method>([
    ['tools/call', (request) => tools.call(request)],
    ['resources/read', (request) => others.readResource(request)],
    ['prompts/get', (request) => others.getPrompt(request)],
    ['completion/complete', (request) => others.complete(request)],
    ['ping', () => '{}'],
    ['initialize', (request) => introduce(request, parts)],
    ['server/discover', (request) => introduce(request, parts)],
    ['logging/setLevel', setLevel],
    ...listMethods(parts, lists),
    ...skillMethods(parts, lists),
    ...subscriptionMethods(parts, subscriptions),
    ...taskMethods(parts),
  ]);
}

function introduce(
  { revision, link }: UnderstoodRequest,
  { info, instructions, source, announcer }: ServerParts,
): Awaitable<string> {
  return andThen(revision.methods.has('skills/list') && hasSkills(source, link.caller), (skills) => {
    const capabilities = {
      // Changes are announced only where they are delivered: on a session or a subscription.
      changes: announcer.works && (revision.era === 'modern' || link.session !== undefined),
      resources: source.resources !== undefined,
      prompts: source.prompts !== undefined,
      skills,
    };
    return JSON.stringify(
      revision.introduce({ info, instructions, capabilities, supportedVersions: modernVersions }),
    );
  });
}

// Not asked of servers that are not connected yet: they may have skills.
function hasSkills({ resources }: ToolSource, caller: Caller): Awaitable<boolean> {
  const skills = resources?.skills;
  if (!skills) return false;
  return skills.isKnown?.(caller) === false || andThen(skills.list(caller), ({ length }) => length > 0);
}

function setLevel({ message, link }: UnderstoodRequest): string {
  const level = readLogLevel(message.params?.['level']);
  if (link.session) link.session.logLevel = level;
  return '{}';
}

function listMethods(parts: ServerParts, lists: Lists): [string, Method][] {
  const { source } = parts;
  const lister =
    <T>(kind: ListKind<T>, list: (request: UnderstoodRequest) => Awaitable<readonly T[]>): Method =>
    (request) => {
      const cursor = readCursor(request.message.params);
      return andThen(list(request), (items) =>
        lists.page(items, kind, { revision: request.revision, cursor }),
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
      lister({ member: 'resources', keyOf: ({ uri }) => uri, encode: encodeResource }, (request) =>
        faceOf(source.resources, request).list(request.link.caller),
      ),
    ],
    [
      'resources/templates/list',
      lister(
        { member: 'resourceTemplates', keyOf: ({ uriTemplate }) => uriTemplate, encode: encodeTemplate },
        (request) => faceOf(source.resources, request).templates(request.link.caller),
      ),
    ],
    [
      'prompts/list',
      lister({ member: 'prompts', keyOf: ({ name }) => name, encode: encodePrompt }, (request) =>
        faceOf(source.prompts, request).list(request.link.caller),
      ),
    ],
  ];
}

function subscriptionMethods(
  { source, announcer, info }: ServerParts,
  subscriptions: Subscriptions,
): [string, Method][] {
  const subscribe: Method = async (request) => {
    const { message, link } = request;
    const resources = faceOf(source.resources, request);
    const uri = readUri(message.params);
    if (!(await resources.find(uri, link.caller))) throw resourceNotFound(uri);
    if (link.session && link.session.subscriptions.size >= MAX_SUBSCRIBED) {
      throw new ToolcribError('too_many', `A session may subscribe to at most ${MAX_SUBSCRIBED} resources.`);
    }
    link.session?.follow(uri, () => {
      const forget = subscriptions.followed.take(link.caller, roomFor([uri]));
      try {
        const stop = announcer.follow(uri, link.caller);
        return () => {
          stop();
          forget();
        };
      } catch (error) {
        forget();
        throw error;
      }
    });
    return '{}';
  };
  const unsubscribe: Method = (request) => {
    const { message, link } = request;
    faceOf(source.resources, request);
    link.session?.unfollow(readUri(message.params));
    return '{}';
  };
  const listen: Method = async (request) => {
    const { works } = announcer;
    const audible = {
      tools: works,
      prompts: works && source.prompts !== undefined,
      resources: works && source.resources !== undefined,
    };
    return JSON.stringify(request.revision.frame(await subscriptions.listen(request, audible), info));
  };
  return [
    ['resources/subscribe', subscribe],
    ['resources/unsubscribe', unsubscribe],
    ['subscriptions/listen', listen],
  ];
}

function taskMethods({ tasks, info }: ServerParts): [string, Method][] {
  const about =
    (work: (id: string, request: UnderstoodRequest) => Promise<JsonObject>): Method =>
    async (request) => {
      requireCapabilities(['tasks'], request);
      const task = await work(readTaskId(request.message.params), request);
      return writeWithLongIntegers(request.revision.frame(task, info), notedLongIntegers(task));
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
