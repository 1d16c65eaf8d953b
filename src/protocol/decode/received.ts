import { isUtf8 } from 'node:buffer';
import { parseJson } from '../../base/parse-json.ts';
import type { RelayedJson } from '../../core/result.ts';
import type { JsonObject } from '../wire/json-rpc.ts';
import { JsonGrammar } from '../wire/json-grammar.ts';
import { bytesAsBuffer } from '../wire/key-memory.ts';
import { readMembers, valueStart } from '../wire/result-members.ts';

/** The result of a request, and the message it came in. */
export interface Received {
  /** All of it; where there is an outline, parsed at the first look. */
  readonly result: JsonObject;
  /** The result without what is large, in the members named by `late` alone: empty texts, and `null` for data. */
  readonly outline?: JsonObject | undefined;
  readonly late?: readonly LateMember[];
  /** The whole message, as it came. */
  readonly bytes: Uint8Array;
  /** Whether a number of the message has more digits than parsing keeps for sure. */
  readonly hasLongNumbers?: boolean;
  /** Where the result is in the message, unless that holds several. */
  readonly json?: RelayedJson | undefined;
}

/** A member of a result that may be passed on without anybody looking at its texts. */
export type LateMember = 'content' | 'structuredContent';

/** A result that is parsed when somebody looks at it. */
export class LateResult implements Received {
  readonly outline: JsonObject;
  readonly late: readonly LateMember[];
  readonly bytes: Uint8Array;
  readonly json: RelayedJson;
  #result: JsonObject | undefined;

  constructor(outline: JsonObject, late: readonly LateMember[], json: RelayedJson) {
    this.outline = outline;
    this.late = late;
    this.bytes = json.message;
    this.json = json;
  }

  get result(): JsonObject {
    return (this.#result ??= this.#parse());
  }

  // The outline was parsed and its texts were scanned, so this is JSON.
  #parse(): JsonObject {
    const { message, start, end, isAscii } = this.json;
    const text = bytesAsBuffer(message).toString(isAscii ? 'latin1' : 'utf8', start, end);
    return parseJson(text) as JsonObject;
  }
}

/** The parts that are left out when a message is parsed for the first time. */
export interface Late {
  readonly members: readonly LateMember[];
  /** The message without it. */
  readonly outline: string;
}

// Less than this is parsed faster than it is left out.
const LARGE_BYTES = 1_024;
const grammar = new JsonGrammar();

/**
 * What of a result may be parsed at the first look; `undefined` if nothing is large, or if only the parser can tell
 * whether it is JSON.
 */
export function lateIn(json: RelayedJson, longTexts: readonly number[]): Late | undefined {
  const { message, start, end, isAscii } = json;
  if (end - start < LARGE_BYTES) return undefined;
  const members = readMembers(json);
  if (!members) return undefined;
  const outline = new Outline(message, isAscii ? 'latin1' : 'utf8');
  const late: LateMember[] = [];
  let next = 0;
  for (const member of members) {
    const first = next;
    while (next < longTexts.length && longTexts[next]! < member.end) next += 2;
    const isData = member.name === 'structuredContent' && member.end - member.start >= LARGE_BYTES;
    if (!isData && first === next) continue;
    if (isData) {
      const value = valueStart(message, member);
      if (!grammar.isValue(message, value, member.end)) return undefined;
      outline.cut(value, member.end, 'null');
    } else if (member.name === 'content') {
      for (let at = first; at < next; at += 2) outline.cut(longTexts[at]!, longTexts[at + 1]!, '');
    } else return undefined;
    late.push(member.name);
  }
  if (late.length === 0 || (!isAscii && !isUtf8(message))) return undefined;
  return { members: late, outline: outline.end() };
}

/** The text without the parts that were cut out. */
class Outline {
  readonly #bytes: Buffer;
  readonly #encoding: 'latin1' | 'utf8';
  #text = '';
  #done = 0;

  constructor(message: Uint8Array, encoding: 'latin1' | 'utf8') {
    this.#bytes = bytesAsBuffer(message);
    this.#encoding = encoding;
  }

  cut(start: number, end: number, instead: string): void {
    this.#text += this.#bytes.toString(this.#encoding, this.#done, start) + instead;
    this.#done = end;
  }

  end(): string {
    return this.#text + this.#bytes.toString(this.#encoding, this.#done);
  }
}
