import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createListener } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openCrib } from '../gateway.ts';

async function openApi(): Promise<{ origin: string; heard: IncomingMessage[] }> {
  const heard: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    heard.push(request);
    const coded = Buffer.from(request.headers.authorization ?? '').toString('base64');
    response.end(`You sent ${request.headers.authorization}, or ${coded}.`);
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return { origin: `http://127.0.0.1:${(server.address() as { port: number }).port}`, heard };
}

test('D4 a gateway sends its configured secret, shows it to nobody, and records every call and refusal', async () => {
  const { origin, heard } = await openApi();
  const secret = 'canary-2b6f08c4';
  const crib = await openCrib({
    env: { API_TOKEN: secret },
    config: {
      tools: {
        modules: [],
        ready: {
          fetch_api_data: {
            hosts: ['127.0.0.1', 'api.example.com'],
            hostsByTenant: { south: ['api.example.com'] },
            trustedOrigins: [origin],
            headers: { Authorization: 'Bearer ${API_TOKEN}' },
          },
        },
      },
    },
  });
  const [ada, cyn] = [await crib.connect('ada'), await crib.connect('cyn')];
  const answers = [
    await ada.call('fetch_api_data', { url: `${origin}/` }),
    await ada.call('fetch_api_data', { url: 'https://evil.test/?q=row' }),
    await cyn.call('fetch_api_data', { url: `${origin}/` }),
  ];
  expect(answers.map(({ isError }) => isError === true)).toEqual([false, true, true]);
  expect(heard.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${secret}`]);
  const shown = JSON.stringify([answers, await ada.list(), crib.rows(), crib.logged]);
  expect(shown).not.toContain(secret);
  expect(shown).not.toContain(Buffer.from(`Bearer ${secret}`).toString('base64').slice(0, 20));
  const ends = crib.rowsOf('fetch_api_data').filter(({ kind }) => kind === 'call');
  expect(ends.map(({ chain, outcome }) => [chain, outcome])).toEqual([
    ['north', 'done'],
    ['north', 'failed'],
    ['south', 'failed'],
  ]);
});

const canary = 'canary-91c2d7e0';

test.each([
  ['the query', { path: `/?q=${canary}` }],
  ['the path', { path: `/${canary}/x` }],
  ['a header', { path: '/', headers: { 'X-Data': canary } }],
  ['the body', { path: '/', method: 'POST', body: canary }],
])(
  'D4 a value in %s is refused for a host that is not listed, and the refusal is on record',
  async (_where, what) => {
    const { port, connections } = await openListener();
    const { path, ...args } = what;
    // Only the list stands in the way: the scheme, the port and the method are allowed.
    const listed = {
      hosts: ['api.example.com'],
      ports: [443, port],
      methods: ['GET', 'POST'] as ['GET', 'POST'],
    };
    const crib = await openCrib({ config: { tools: { modules: [], ready: { fetch_api_data: listed } } } });
    const url = `https://localhost:${port}${path}`;
    const answer = await (await crib.connect('ada')).call('fetch_api_data', { ...args, url });
    expect(answer.isError).toBe(true);
    expect(JSON.parse(answer.content[0]!.text)).toEqual({
      error: 'Request error',
      message: 'This host is not among those that can be reached; use another one.',
    });
    expect(connections()).toBe(0);
    expect(crib.rowsOf('fetch_api_data')).toMatchObject([
      { kind: 'intent', chain: 'north', caller: 'ada', arguments: expect.any(String) },
      { kind: 'outcome', chain: 'north', outcome: 'failed' },
    ]);
    // Control: a client without a list connects to the same address at once.
    await fetch(url, args).catch(() => undefined);
    expect(connections()).toBeGreaterThan(0);
  },
);

async function openListener(): Promise<{ port: number; connections: () => number }> {
  let count = 0;
  const server = createListener((socket) => {
    count++;
    socket.on('error', () => {}).destroy();
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return { port: (server.address() as { port: number }).port, connections: () => count };
}

test('an invalid host stops the start, and the message says where and what to change', async () => {
  const config = { tools: { ready: { fetch_api_data: { hosts: ['https://api.example.com'] } } } };
  await expect(openCrib({ config })).rejects.toThrow(
    /fetch_api_data.*cannot be used: "https:\/\/api.example.com" is not a host; write a name/s,
  );
});
