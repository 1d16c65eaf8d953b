import type { Json, Peer } from './peer.ts';

/** Something the server asked of the client. */
export interface Asked {
  readonly method: string;
  readonly params?: Json;
  /** What the question is called, where it travels in a result. */
  readonly key?: string;
}

/** A request that was made until it needed no more answers. */
export interface Answered {
  readonly result: Json;
  readonly asked: readonly Asked[];
  /** The results that asked, where asking ends the request. */
  readonly rounds: readonly Json[];
}

/** A client that makes a request and answers whatever it is asked on the way, as its revision has it. */
export async function requestAnswering(
  peer: Peer,
  { method, params }: { readonly method: string; readonly params: Json },
  answer: (asked: Asked) => Json,
): Promise<Answered> {
  const asked: Asked[] = [];
  const rounds: Json[] = [];
  const reply = (question: Asked): Json => {
    asked.push(question);
    return answer(question);
  };
  let result = await peer.result(method, params, {
    onNotification(message) {
      if (!('id' in message)) return;
      const { id, ...question } = message as unknown as Asked & { id: unknown };
      void peer.wire.send(JSON.stringify({ jsonrpc: '2.0', id, result: reply(plain(question)) }));
    },
  });
  while (result['resultType'] === 'input_required') {
    rounds.push(result);
    const { inputRequests, requestState } = result as { inputRequests: Json; requestState: string };
    const inputResponses = Object.fromEntries(
      Object.entries(inputRequests).map(([key, question]) => [key, reply({ ...(question as Asked), key })]),
    );
    result = await peer.result(method, { ...params, inputResponses, requestState });
  }
  return { result, asked, rounds };
}

/** A client that calls a tool and answers whatever it is asked on the way. */
export function callAnswering(peer: Peer, name: string, answer: (asked: Asked) => Json): Promise<Answered> {
  return requestAnswering(peer, { method: 'tools/call', params: { name, arguments: {} } }, answer);
}

function plain({ method, params }: Asked): Asked {
  return { method, ...(params && { params }) };
}
