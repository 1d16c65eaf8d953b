import { Client, Events } from './client.ts';
import { ada, tokenOf } from './people.ts';
import type { RawRequest } from './raw-http.ts';
import type { Target } from './target.ts';

/** A way in beside the plain call, and a good request for it. */
export interface Route {
  readonly name: string;
  readonly line: string;
  readonly good: (target: Target) => Promise<RawRequest>;
  /** The status of the good request. */
  readonly status: number;
}

/** Every way in beside the plain call; needs a target with `sse`. */
export const routes: readonly Route[] = [
  {
    name: 'a call on a session',
    line: 'POST /mcp HTTP/1.1',
    status: 200,
    good: async (target) => onSession(target, 'POST /mcp HTTP/1.1', CALL),
  },
  {
    name: 'the stream of a session',
    line: 'GET /mcp HTTP/1.1',
    status: 200,
    good: async (target) => onSession(target, 'GET /mcp HTTP/1.1', ''),
  },
  {
    name: 'the end of a session',
    line: 'DELETE /mcp HTTP/1.1',
    status: 204,
    good: async (target) => onSession(target, 'DELETE /mcp HTTP/1.1', ''),
  },
  {
    name: 'the old stream',
    line: 'GET /sse HTTP/1.1',
    status: 200,
    good: async ({ port }) => requestTo('GET /sse HTTP/1.1', port, ''),
  },
  {
    name: 'a call beside the old stream',
    line: 'POST /messages HTTP/1.1',
    status: 202,
    good: async (target) => requestTo(`POST ${await openOldStream(target)} HTTP/1.1`, target.port, CALL),
  },
];

const CALL =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"danger","arguments":{"mark":"first"}}}';

/** Opens the old transport's stream and returns where its messages go. */
export async function openOldStream(target: Target): Promise<string> {
  const response = await new Client(target).open({ method: 'GET', path: '/sse' });
  return (await new Events(response).nextData())!;
}

async function onSession(target: Target, line: string, body: string): Promise<RawRequest> {
  const session = await new Client(target).startSession('2025-06-18');
  const request = requestTo(line, target.port, body);
  return { ...request, headers: [['Mcp-Session-Id', session], ...request.headers] };
}

function requestTo(line: string, port: number, body: string): RawRequest {
  return {
    line,
    headers: [
      ['Host', `127.0.0.1:${port}`],
      ['Authorization', tokenOf(ada)],
      ['Accept', 'application/json, text/event-stream'],
      ...(body === ''
        ? []
        : ([
            ['Content-Type', 'application/json'],
            ['Content-Length', 'auto'],
          ] as const)),
      ['Connection', 'close'],
    ],
    body,
  };
}
