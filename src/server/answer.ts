import { rowOf, type ToolcribError } from '../base/errors.ts';
import type { Era } from '../protocol/wire/era.ts';
import { encodeError } from '../protocol/wire/json-rpc.ts';

/** The answer to a message: a status and headers for HTTP, and the text of one message, or none. */
export interface Answer {
  readonly status: number;
  readonly body: Body | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A message's text, whole or in pieces: long lists are kept encoded and never joined. */
export type Body = string | readonly (string | Buffer)[];

/** The whole text of a body. */
export function textOf(body: Body): string {
  return typeof body === 'string' ? body : body.map(String).join('');
}

/** The answer to a request that is refused before or instead of being performed. */
export function refusalAnswer(
  idText: string | undefined,
  error: ToolcribError,
  { era, number }: { readonly era?: Era | undefined; readonly number?: number | undefined } = {},
): Answer {
  const { code } = error;
  if (era === 'legacy') {
    // These clients take a 404 or 400 as the loss of their session, and have a number of their own for resources.
    const own = code === 'unknown_resource' ? -32002 : number;
    return { status: code === 'invalid_request' ? 400 : 200, body: encodeError(idText, error, own) };
  }
  // A message without an id gets no JSON-RPC error that its client could read, so the status tells.
  const untold = code === 'rate_limited' && idText === undefined ? 429 : 200;
  return { status: rowOf(code).status ?? untold, body: encodeError(idText, error, number) };
}
