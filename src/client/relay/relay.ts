import type { Call } from '../../core/call.ts';
import type { Result } from '../../core/result.ts';
import type { JsonObject } from '../../protocol/wire/json-rpc.ts';
import type { ToolCalls } from '../calls/tool-calls.ts';
import type { SendOptions } from '../connection.ts';
import type { Received } from '../exchange.ts';
import type { Peer } from '../peer.ts';
import { relayedError } from './relayed-error.ts';
import { relayedResult } from './relayed-result.ts';

const NAMELESS = 'The server behind this one';

/** Passes calls of a source on to a server, so that nothing of them or of their answers is lost. */
export class Relay {
  readonly #peer: Peer;
  readonly #tools: ToolCalls;

  constructor(peer: Peer, tools: ToolCalls) {
    this.#peer = peer;
    this.#tools = tools;
  }

  /** Passes one call on. */
  async call(call: Call): Promise<Result> {
    try {
      return relayedResult(await this.#send(call, {}), call.kind);
    } catch (error) {
      throw relayedError(error, call, NAMELESS);
    }
  }

  #send(call: Call, extra: JsonObject): Promise<Received> {
    const { report } = call.voice;
    const options: SendOptions = {
      signal: call.cancellation.signal,
      ...(report && { onProgress: report }),
    };
    if (call.kind === 'tool') return this.#tools.sendOnce(call, extra, options);
    const { method, params } = readingRequest(call);
    return this.#peer.connection.request(method, { ...params, ...extra }, options);
  }
}

function readingRequest(call: Exclude<Call, { kind: 'tool' }>): {
  readonly method: string;
  readonly params: JsonObject;
} {
  switch (call.kind) {
    case 'resource':
      return { method: 'resources/read', params: { uri: call.uri } };
    case 'prompt':
      return { method: 'prompts/get', params: { name: call.prompt.name, arguments: call.arguments } };
    case 'completion': {
      const { target, argument, chosen } = call;
      const ref =
        'uriTemplate' in target
          ? { type: 'ref/resource', uri: target.uriTemplate }
          : { type: 'ref/prompt', name: target.name };
      const context = Object.keys(chosen).length > 0 ? { context: { arguments: chosen } } : {};
      return { method: 'completion/complete', params: { ref, argument, ...context } };
    }
  }
}
