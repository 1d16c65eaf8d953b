import type { Call } from '../../core/call.ts';
import type { Result } from '../../core/result.ts';
import type { ToolCalls } from '../calls/tool-calls.ts';
import type { Peer } from '../peer.ts';
import { RelayedCall, type RelayOptions } from './call.ts';

/** Passes calls of a source on to a server, whole: no member of a call or of its answer is lost. */
export class Relay {
  readonly #peer: Peer;
  readonly #tools: ToolCalls;

  constructor(peer: Peer, tools: ToolCalls) {
    this.#peer = peer;
    this.#tools = tools;
  }

  /** Passes one call on. */
  call(call: Call, how?: RelayOptions): Promise<Result> {
    return new RelayedCall(call, { peer: this.#peer, tools: this.#tools }, how).run();
  }
}
