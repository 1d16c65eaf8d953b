import type { Got } from './peers.ts';

/** What a hostile server does with a call, and the code of the error that must come of it. */
export type HostileAct = readonly [title: string, act: (got: Got) => void, code: string];

const raw = ({ response }: Got, body: string, type = 'application/json'): void => {
  response.writeHead(200, { 'content-type': type });
  response.end(body);
};

/** Everything a server can do wrong with one request over HTTP. */
export const hostileActs: readonly HostileAct[] = [
  ['never answers', () => {}, 'timed_out'],
  [
    'drips bytes without end',
    ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    },
    'timed_out',
  ],
  [
    'sends more than is taken',
    ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.on('error', () => {});
      const chunk = Buffer.alloc(65_536, 0x20);
      const flood = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', flood);
      };
      flood();
    },
    'invalid_answer',
  ],
  [
    'sends an event without end',
    ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const timer = setInterval(() => response.write(`data: ${'x'.repeat(50_000)}`), 5);
      response.on('close', () => clearInterval(timer));
    },
    'invalid_answer',
  ],
  [
    'sends a flood of notifications',
    (got) => {
      const send = got.stream();
      for (let count = 0; count < 12_000; count++)
        send({ method: 'notifications/message', params: { level: 'info', data: count } });
    },
    'invalid_answer',
  ],
  [
    'sends interim answers without end',
    ({ request: { socket } }) => {
      const hint = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(10);
      const flood = (): void => {
        while (socket.writable && socket.write(hint));
        if (socket.writable) socket.once('drain', flood);
      };
      socket.on('error', () => {});
      flood();
    },
    'invalid_answer',
  ],
  [
    'redirects elsewhere',
    ({ response, request }) =>
      void response.writeHead(307, { location: `http://${request.headers.host}/elsewhere` }).end(),
    'upstream_unavailable',
  ],
  [
    'answers another request',
    (got) => raw(got, '{"jsonrpc":"2.0","id":999,"result":{"content":[]}}'),
    'invalid_answer',
  ],
  [
    'answers with an id of another type',
    (got) => raw(got, `{"jsonrpc":"2.0","id":"${String(got.body['id'])}","result":{}}`),
    'invalid_answer',
  ],
  [
    'answers with a result and an error',
    (got) => raw(got, `{"jsonrpc":"2.0","id":${String(got.body['id'])},"result":{},"error":{}}`),
    'invalid_answer',
  ],
  [
    'answers with a result that is a list',
    (got) => raw(got, `{"jsonrpc":"2.0","id":${String(got.body['id'])},"result":[]}`),
    'invalid_answer',
  ],
  [
    'answers with an unknown kind of result',
    (got) => got.reply({ resultType: 'surprise' }),
    'invalid_answer',
  ],
  ['answers with a page in HTML', (got) => raw(got, '<html>', 'text/html'), 'invalid_answer'],
  ['answers with broken JSON', (got) => raw(got, '{"jsonrpc":'), 'invalid_answer'],
  ['answers with bottomless JSON', (got) => raw(got, '['.repeat(5_000)), 'invalid_answer'],
  [
    'answers with JSON that is far too deep',
    (got) =>
      raw(
        got,
        `{"jsonrpc":"2.0","id":${String(got.body['id'])},"result":{"content":[],"x":${'['.repeat(1_000)}${']'.repeat(1_000)}}}`,
      ),
    'invalid_answer',
  ],
  [
    'answers with keys that are there twice',
    (got) =>
      raw(got, `{"jsonrpc":"2.0","id":${String(got.body['id'])},"result":{"content":[],"content":[]}}`),
    'invalid_answer',
  ],
  [
    'answers in another encoding',
    ({ body, response }) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
      // Accepted where the encoding is not checked.
      const result = { resultType: 'complete', content: [] };
      response.end(JSON.stringify({ jsonrpc: '2.0', id: body['id'], result }));
    },
    'invalid_answer',
  ],
  [
    'closes in the middle of an event',
    ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"jsonrpc"', () => response.destroy());
    },
    'upstream_unavailable',
  ],
  ['closes at once', ({ response }) => response.destroy(), 'upstream_unavailable'],
  ['fails', ({ response }) => void response.writeHead(500).end('oops'), 'upstream_unavailable'],
  ['answers with nothing', ({ response }) => void response.writeHead(202).end(), 'upstream_unavailable'],
];
