import { randomBytes, randomUUID } from 'node:crypto';
import { handshakeVersions } from './attack.ts';
import { Events, type Client, type Reply, type RequestOptions } from './client.ts';
import type { RichTarget } from './rich-target.ts';

/** Something that belongs to her, as others may try to use it. */
export interface Belonging {
  readonly name: string;
  /** Makes it, and returns its id. */
  readonly make: (owner: Client, target: Pick<RichTarget, 'release'>) => Promise<string>;
  /** An id of the same kind that was never issued. */
  readonly invent: () => string;
  /** Uses an id. */
  readonly use: (client: Client, id: string) => Promise<RequestOptions>;
  /** What she gets when she uses it herself. */
  readonly hers: (reply: Reply) => boolean;
}

/** A request on a session. */
export const ping = (session: string): RequestOptions => ({
  headers: { 'mcp-session-id': session },
  body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
});
/** Makes a task, and returns its id. */
export const makeTask =
  (tool: string) =>
  async (owner: Client): Promise<string> =>
    String((await owner.ask('tools/call', { name: tool })).json?.result?.['taskId']);
const isResult = ({ json }: Reply): boolean => json?.result !== undefined;

const sessions = handshakeVersions.flatMap((version): Belonging[] => {
  const make = (owner: Client): Promise<string> => owner.startSession(version);
  const uses: [name: string, use: (id: string) => RequestOptions, hers: (reply: Reply) => boolean][] = [
    ['post on', ping, isResult],
    [
      'answer on',
      (id) => ({ headers: { 'mcp-session-id': id }, body: '{"jsonrpc":"2.0","id":"ask-1","result":{}}' }),
      ({ status }) => status === 202,
    ],
    [
      'cancel on',
      (id) => ({
        headers: { 'mcp-session-id': id },
        body: '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
      }),
      ({ status }) => status === 202,
    ],
    [
      'listen to',
      (id) => ({ method: 'GET', headers: { 'mcp-session-id': id, accept: 'application/json' } }),
      ({ status }) => status === 406,
    ],
    [
      'end',
      (id) => ({ method: 'DELETE', headers: { 'mcp-session-id': id } }),
      ({ status }) => status === 204,
    ],
  ];
  return uses.map(([name, use, hers]) => ({
    name: `${name} a session of ${version}`,
    make,
    invent: randomUUID,
    use: async (_client, id) => use(id),
    hers,
  }));
});

const tasks = (['tasks/get', 'tasks/update', 'tasks/cancel'] as const).map((method): Belonging => ({
  name: `use a task with ${method}`,
  make: makeTask('detach-and-ask'),
  invent: () => randomBytes(16).toString('base64url'),
  use: async (client, taskId) =>
    client.modern(
      method,
      { taskId, inputResponses: { sure: { action: 'accept', content: { yes: true } } } },
      1,
    ),
  hers: isResult,
}));

const rest: readonly Belonging[] = [
  {
    name: 'read what was published for her',
    make: async (owner) => {
      const { json } = await owner.ask('tools/call', { name: 'publish' });
      return (json!.result!['content'] as { uri: string }[])[0]!.uri;
    },
    invent: () => `toolcrib-published://${randomBytes(16).toString('base64url')}`,
    use: async (client, uri) => client.modern('resources/read', { uri }, 1),
    hers: ({ body }) => body.includes('the secret of ada'),
  },
  {
    name: 'go on from her cursor',
    make: async (owner) => String((await owner.ask('tools/list')).json?.result?.['nextCursor']),
    invent: () => Buffer.from('nothing').toString('base64url'),
    use: async (client, cursor) => client.modern('tools/list', { cursor }, 1),
    hers: isResult,
  },
  {
    name: 'resume with her request state',
    make: async (owner) =>
      String(
        (await owner.ask('tools/call', { name: 'ask', arguments: { n: 1 } })).json?.result?.['requestState'],
      ),
    invent: () => `${randomBytes(4).toString('hex')}.${randomBytes(200).toString('base64url')}`,
    use: async (client, requestState) =>
      client.modern(
        'tools/call',
        {
          name: 'ask',
          arguments: { n: 1 },
          requestState,
          inputResponses: { sure: { action: 'accept', content: { yes: true } } },
        },
        1,
      ),
    hers: isResult,
  },
  {
    name: 'come back to her stream on a session of their own',
    make: async (owner, target) => {
      const session = await owner.startSession('2025-11-25');
      const call = owner.old('tools/call', { name: 'work', _meta: { progressToken: 1 } }, { session });
      const events = new Events(await owner.open(call));
      await events.next();
      target.release();
      while (await events.next());
      return events.lastId!.replace(/\.\d+$/, '.1');
    },
    invent: () => `${randomBytes(9).toString('base64url')}.1`,
    use: async (client, id) => ({
      method: 'GET',
      headers: { 'mcp-session-id': await client.startSession('2025-11-25'), 'last-event-id': id },
    }),
    hers: ({ status }) => status === 404,
  },
  {
    name: 'post beside her old stream',
    make: async (owner) => {
      const response = await owner.open({ method: 'GET', path: '/sse' });
      return new URLSearchParams((await new Events(response).nextData())!.split('?')[1]).get('sessionId')!;
    },
    invent: randomUUID,
    use: async (_client, id) => ({
      path: `/messages?sessionId=${id}`,
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    }),
    hers: ({ status }) => status === 202,
  },
];

/** Everything of hers that others may try to use. */
export const belongings: readonly Belonging[] = [...sessions, ...tasks, ...rest];

/** A table for `test.each`. */
export function byName(table: readonly Belonging[]): [string, Belonging][] {
  return table.map((belonging) => [belonging.name, belonging]);
}
