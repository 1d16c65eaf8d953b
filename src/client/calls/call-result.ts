import { ToolcribError } from '../../base/errors.ts';
import { exactText } from '../../base/exact-json.ts';
import { isObject } from '../../base/json.ts';
import { parseJson, readJson } from '../../base/parse-json.ts';
import type { ContentBlock, ImageBlock, TextBlock } from '../../core/content.ts';
import { rawResultOf } from '../../protocol/decode/message.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import { ToolExecutionFailed } from '../errors.ts';
import type { Received } from '../../protocol/decode/received.ts';

/** How a result's data is read. */
export interface DataOptions {
  /** Gives integers that a number cannot hold as `bigint`. */
  readonly exact?: boolean;
}

/** The result of a tool, with several ways to read it; every member is kept. */
export class CallResult {
  /** Every member of the result, as it came. */
  readonly raw: JsonObject;
  readonly content: readonly ContentBlock[];
  readonly isError: boolean;
  readonly #bytes: Uint8Array;

  constructor({ result, bytes }: Received) {
    const { content, isError } = result;
    this.raw = result;
    this.content = blocksOf(content);
    this.isError = isError === true;
    this.#bytes = bytes;
  }

  /** The structured value; `undefined` where there is none. */
  get structuredContent(): unknown {
    return this.raw['structuredContent'];
  }

  get meta(): JsonObject | undefined {
    const meta = this.raw['_meta'];
    return isObject(meta) ? meta : undefined;
  }

  /** The whole message it came in. */
  get message(): Uint8Array {
    return this.#bytes;
  }

  /** The text of the result as the server wrote it. */
  get json(): string {
    return rawResultOf(this.#bytes) ?? exactText(this.raw);
  }

  /** The structured value, or what the first text block says in JSON. */
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- The caller says what it expects.
  data<T = unknown>({ exact = false }: DataOptions = {}): T {
    if (this.structuredContent !== undefined)
      return (
        exact ? (readJson(this.json, 'exact') as JsonObject)['structuredContent'] : this.structuredContent
      ) as T;
    const text = this.#firstText();
    if (text === undefined)
      throw new ToolcribError('invalid_answer', 'The result holds neither data nor text.');
    try {
      return (exact ? readJson(text, 'exact') : parseJson(text)) as T;
    } catch (cause) {
      throw new ToolcribError('invalid_answer', 'The text of the result is not JSON.', { cause });
    }
  }

  /** The result itself, unless it reports a failure: by `isError`, or by an `error` in its data. */
  unwrap(): this {
    const reason = this.#failure();
    if (reason === undefined) return this;
    throw new ToolExecutionFailed(reason, { data: { result: this.raw } });
  }

  /** All text, block after block. */
  text(): string {
    return this.#texts().join('\n');
  }

  /** The pictures, decoded. */
  images(): readonly { readonly mimeType: string; readonly data: Uint8Array }[] {
    return this.content
      .filter(isPicture)
      .map(({ mimeType, data }) => ({ mimeType, data: new Uint8Array(Buffer.from(data, 'base64')) }));
  }

  #firstText(): string | undefined {
    return this.#texts()[0];
  }

  #texts(): readonly string[] {
    return this.content.flatMap((block) => (isText(block) ? [block.text] : []));
  }

  #failure(): string | undefined {
    if (this.isError) return this.text() || 'The tool failed and gave no reason.';
    const data = this.#dataIfAny();
    if (!isObject(data) || !('error' in data) || data['error'] === null || data['error'] === false)
      return undefined;
    return typeof data['error'] === 'string' ? data['error'] : JSON.stringify(data['error']);
  }

  #dataIfAny(): unknown {
    try {
      return this.data();
    } catch {
      return undefined;
    }
  }
}

const NO_BLOCKS: readonly ContentBlock[] = Object.freeze([]);

// A server may send anything; `raw` has all of it.
function blocksOf(content: unknown): readonly ContentBlock[] {
  if (!Array.isArray(content)) return NO_BLOCKS;
  const blocks = content as ContentBlock[];
  return blocks.every(isObject) ? blocks : blocks.filter(isObject);
}

function isText(block: ContentBlock): block is TextBlock {
  return block.type === 'text' && typeof block.text === 'string';
}

function isPicture(block: ContentBlock): block is ImageBlock {
  return block.type === 'image' && typeof block.data === 'string' && typeof block.mimeType === 'string';
}

/** A call under way: await it for the result, or ask at once for its data, text or pictures. */
export class PendingCall extends Promise<CallResult> {
  // `then` returns an ordinary promise.
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  /** The data of the result, once it is there. */
  data<T = unknown>(options?: DataOptions): Promise<T> {
    return this.then((result) => result.data<T>(options));
  }

  /** The result, or the failure it reports, thrown. */
  unwrap(): Promise<CallResult> {
    return this.then((result) => result.unwrap());
  }

  /** All text of the result. */
  text(): Promise<string> {
    return this.then((result) => result.text());
  }

  /** The pictures of the result. */
  images(): Promise<ReturnType<CallResult['images']>> {
    return this.then((result) => result.images());
  }
}
