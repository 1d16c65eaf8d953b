import { ToolcribError } from '../../base/errors.ts';
import type { LongIntegers } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import type { Call } from '../../core/call.ts';
import type { ContentBlock } from '../../core/content.ts';
import {
  withLinks,
  type Done,
  type Failed,
  type Relayed,
  type RelayedJson,
  type Result,
} from '../../core/result.ts';
import { longIntegersIn } from '../../protocol/decode/message.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { metaKeys } from '../../protocol/wire/meta.ts';
import type { LateMember, Received } from '../../protocol/decode/received.ts';

/** The answer of another server as a result; all members are kept, except those about that connection. */
export function relayedResult(received: Received, kind: Call['kind']): Done | Failed {
  if (kind === 'tool' && received.outline) {
    const ending = lateEnding(received, received.outline);
    if (ending) return ending;
  }
  const { body, around } = read(received.result, received);
  if (kind !== 'tool') return { ...readingEnding(body, kind), ...around };
  const ending = toolEnding(body, around);
  // A result whose blocks were mended differs from the bytes that came.
  if (ending.content === body['content']) around.relayed.isOf(ending);
  return ending;
}

function read(result: JsonObject, received: Received): { body: JsonObject; around: Around } {
  const { resultType, ttlMs: _ttl, cacheScope: _scope, _meta, ...body } = result;
  if (resultType !== undefined && resultType !== 'complete') throw unclear('a result of an unknown kind');
  const meta = isObject(_meta) ? ownMeta(_meta) : undefined;
  return { body, around: { ...(meta && { meta }), relayed: new FarResult(received) } };
}

// Members that the outline lacks are parsed when a stage or the encoder asks for them.
function lateEnding(received: Received, outline: JsonObject): Done | Failed | undefined {
  const { body, around } = read(outline, received);
  const ending = toolEnding(body, around);
  const blocks = ending.content;
  if (!blocks || blocks !== body['content']) return undefined;
  for (const name of received.late ?? []) Object.defineProperty(ending, KEYS[name], READERS[name]);
  around.relayed.isOf(ending, blocks);
  return ending;
}

const KEYS = { content: 'content', structuredContent: 'data' } as const;

// As a member of its own that is listed, so that a copy of the result has the value. The functions are shared: V8 would
// keep one that is made for a result, and with it the result, until it looks at the whole heap.
const READERS = {
  content: lateReader('content'),
  structuredContent: lateReader('structuredContent'),
};

function lateReader(name: LateMember): PropertyDescriptor & ThisType<{ readonly relayed: FarResult }> {
  return {
    enumerable: true,
    configurable: true,
    get() {
      return this.relayed.read(name);
    },
  };
}

interface Around extends Partial<Done> {
  readonly relayed: FarResult;
}

/** The facts about a result besides its values. */
class FarResult implements Relayed {
  readonly longIntegers?: LongIntegers;
  // Private, because events of a host hold results after they were cleaned.
  readonly #received: Received;
  #json: RelayedJson | undefined;
  #result: Result | undefined;

  constructor(received: Received) {
    this.#received = received;
    this.#json = received.json;
    const longIntegers = longIntegersIn(received);
    if (longIntegers) this.longIntegers = longIntegers;
  }

  /** Notes the result that says the same as the JSON, and its blocks where these were not parsed as a whole. */
  isOf(result: Result, blocks?: readonly ContentBlock[]): void {
    this.#result = result;
    if (blocks && this.#json) this.#json = { ...this.#json, blocks };
  }

  /** The value of a member that may not have been parsed. */
  read(name: LateMember): unknown {
    return this.#received.result[name];
  }

  jsonOf(result: Result): RelayedJson | undefined {
    return result === this.#result ? this.#json : undefined;
  }
}

function toolEnding(body: JsonObject, around: Partial<Done>): Done | Failed {
  const { content, structuredContent, isError, ...extra } = body;
  if (content !== undefined && !isBlocks(content)) throw unclear('a result without a list of content blocks');
  const blocks = content ?? (structuredContent === undefined ? [] : undefined);
  return {
    kind: isError === true ? 'failed' : 'done',
    ...(blocks && { content: withLinks(blocks) }),
    ...(structuredContent !== undefined && { data: structuredContent }),
    ...around,
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

function readingEnding(body: JsonObject, kind: Exclude<Call['kind'], 'tool'>): Done {
  switch (kind) {
    case 'resource':
      if (isObjects(body['contents'])) return { kind: 'done', data: body };
      throw unclear('a resource without contents');
    case 'prompt':
      if (isObjects(body['messages']) && body['messages'].every(({ content }) => isObject(content)))
        return { kind: 'done', data: body };
      throw unclear('a prompt without messages');
    case 'completion': {
      const { completion, ...extra } = body;
      if (!isObject(completion) || !isTexts(completion['values'])) throw unclear('no list of suggestions');
      return { kind: 'done', data: completion, ...(Object.keys(extra).length > 0 && { extra }) };
    }
  }
}

// The client is told who answered by the server that it is connected to.
function ownMeta(meta: JsonObject): JsonObject | undefined {
  const { [metaKeys.serverInfo]: _info, ...rest } = meta;
  return Object.keys(rest).length > 0 ? rest : undefined;
}

function isBlocks(value: unknown): value is readonly ContentBlock[] {
  return isObjects(value) && value.every(({ type }) => typeof type === 'string');
}

function isObjects(value: unknown): value is readonly JsonObject[] {
  return Array.isArray(value) && value.every(isObject);
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

function unclear(what: string): ToolcribError {
  return new ToolcribError('invalid_answer', `The server behind this one answered with ${what}.`);
}
