import { ToolcribError } from '../../base/errors.ts';
import { longIntegersOf, type LongIntegers } from '../../base/exact-json.ts';
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
import { rawResultOf } from '../../protocol/decode/message.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { metaKeys } from '../../protocol/wire/meta.ts';
import type { Received } from '../pending-request.ts';

/** What another server answered, in the terms of a source; all that is not of that connection alone is kept. */
export function relayedResult(received: Received, kind: Call['kind']): Done | Failed {
  const { resultType, ttlMs: _ttl, cacheScope: _scope, _meta, ...body } = received.result;
  if (resultType !== undefined && resultType !== 'complete') throw unclear('a result of an unknown kind');
  const meta = isObject(_meta) ? ownMeta(_meta) : undefined;
  const relayed = new FarResult(received);
  const around = { ...(meta && { meta }), relayed };
  if (kind !== 'tool') return { ...readingEnding(body, kind), ...around };
  const ending = toolEnding(body, around);
  // A result whose blocks had to be mended is not what came.
  if (ending.content === body['content']) relayed.isOf(ending);
  return ending;
}

/** What is known of a result besides its values. */
class FarResult implements Relayed {
  readonly longIntegers?: LongIntegers;
  readonly #json: RelayedJson | undefined;
  #result: Result | undefined;

  constructor({ bytes, hasLongNumbers, json }: Received) {
    // The result of a task is a part of the message it came in.
    this.#json = json?.message === bytes ? json : undefined;
    const text = hasLongNumbers === true ? rawResultOf(bytes) : undefined;
    const longIntegers = text === undefined ? undefined : longIntegersOf(text);
    if (longIntegers) this.longIntegers = longIntegers;
  }

  /** Notes the result that says the same as the JSON. */
  isOf(result: Result): void {
    this.#result = result;
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

// Who answered is told by the server that the client is connected to.
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
