import { expect, test } from 'vitest';
import { ECHO, makeUp, said, standard, type Got, type MadeUp } from '../client/peers.ts';
import { openCrib, type Crib } from '../gateway.ts';
import { scripted } from './upstream-programs.ts';

const NORTH = 'north-credential-7f3a9c';
const SOUTH = 'south-credential-1b8e4d';

/** A server that shows every credential it gets, wherever a server can say something. */
function revealing(): Promise<MadeUp> {
  return makeUp((got) => {
    const shown = shownBy(got);
    const { method, params } = got.body as { method: string; params?: { arguments?: { how?: string } } };
    if (method === 'tools/list') {
      const tool = { ...ECHO, description: `For ${shown}.` };
      return got.reply({ tools: [tool], ttlMs: 0, cacheScope: 'private' });
    }
    if (method !== 'tools/call') return standard(got);
    switch (params?.arguments?.how) {
      case 'error':
        return got.refuse(-32000, `Not with ${shown}.`, { data: { shown } });
      case 'failed':
        return got.reply({ ...said(`Failed for ${shown}.`), isError: true });
      case 'structured':
        return got.reply({ ...said('x'), structuredContent: { [shown]: shown }, _meta: { 'acme/x': shown } });
      case 'encoded':
        return got.reply(said(Buffer.from(shown).toString('base64')));
      default:
        return got.reply(said(shown));
    }
  });
}

const shownBy = ({ request: { headers } }: Got): string =>
  `${headers.authorization} ${String(headers['x-api-key'])}`;

const everything = (crib: Crib): string => JSON.stringify([crib.logged, crib.rows()]);

test("B1 a server gets the credential of its entry with every request, and none of the caller's", async () => {
  const server = await revealing();
  const crib = await openCrib({
    config: {
      mcpServers: {
        web: { url: server.url, credential: { bearer: NORTH, headers: { 'x-api-key': SOUTH } } },
      },
    },
  });
  const { ada: key } = crib.keys;
  const versions = ['2026-07-28', '2025-11-25'];
  for (const version of versions) {
    const ada = await crib.connect('ada', { version });
    await ada.list();
    await ada.call('echo', { text: 'a' });
    // A credential in a place whose other values are passed on is not passed on either.
    await ada.request('tools/call', {
      name: 'echo',
      arguments: { text: 'a' },
      _meta: { authorization: 'x', 'acme.com/who': 'x', progressToken: 1 },
    });
  }
  expect(server.got.length).toBeGreaterThan(6);
  for (const got of server.got) {
    expect(shownBy(got)).toBe(`Bearer ${NORTH} ${SOUTH}`);
    expect(hasPartOf(key, got)).toBe(false);
    expect(wholeOf(got)).not.toContain('north"');
  }
  // Control: a gateway that signs in with the key of its caller is found out.
  crib.configure({ mcpServers: { web: { url: server.url, pin: 'off', credential: { bearer: key } } } });
  await crib.reload();
  server.got.length = 0;
  await (await crib.connect('ada')).call('echo', { text: 'a' });
  expect(server.got.some((got) => hasPartOf(key, got))).toBe(true);
});

const wholeOf = ({ request, text }: Got): string =>
  `${request.url} ${JSON.stringify(request.rawHeaders)} ${text}`;

/** Whether any eight characters of a key, after what all keys begin with, are in a request. */
function hasPartOf(key: string, got: Got): boolean {
  const whole = wholeOf(got);
  const starts = Array.from({ length: key.length - 11 }, (_, at) => at + 4);
  return starts.some((at) => whole.includes(key.slice(at, at + 8)));
}

test('a credential that a server repeats is removed from lists, results, errors, the log and the record', async () => {
  const server = await revealing();
  const crib = await openCrib({
    config: {
      mcpServers: {
        web: { url: server.url, credential: { bearer: NORTH, headers: { 'x-api-key': SOUTH } } },
      },
    },
  });
  const ada = await crib.connect('ada');
  const seen = [
    await ada.list(),
    await ada.call('echo'),
    ...(await Promise.all(
      ['failed', 'structured', 'encoded'].map((how) => ada.call('echo', { text: 'a', how })),
    )),
    await ada.request('tools/call', { name: 'echo', arguments: { how: 'error' } }),
  ];
  const text = JSON.stringify(seen) + everything(crib);
  expect(text).toContain('[redacted:secret]');
  for (const secret of [NORTH, SOUTH]) {
    expect(text).not.toContain(secret);
    expect(text).not.toContain(Buffer.from(secret).toString('base64').slice(4, 20));
  }
});

test('a key in the address of a server is removed where the server repeats it', async () => {
  const { url } = await makeUp((got) => {
    if (got.body['method'] !== 'tools/call') return standard(got);
    return got.reply(said(`You came to ${got.request.url}`));
  });
  const crib = await openCrib({
    config: { mcpServers: { web: { url: `${url}?shopApiKey=${SOUTH}&region=northern-europe` } } },
  });
  const { content } = await (await crib.connect('ada')).call('echo', { text: 'a' });
  expect(content[0]!.text).toContain('[redacted:secret]');
  expect(content[0]!.text).toContain('northern-europe');
  expect(JSON.stringify(content) + everything(crib)).not.toContain(SOUTH);
});

test('the record says which account was used', async () => {
  const server = await revealing();
  const crib = await openCrib({
    config: {
      mcpServers: {
        web: { url: server.url, credential: { bearer: NORTH, account: 'billing bot' } },
        named: { url: server.url, credential: { bearer: SOUTH } },
        open: { url: server.url },
      },
    },
  });
  const ada = await crib.connect('ada');
  for (const name of ['web__echo', 'named__echo', 'open__echo']) await ada.call(name);
  const accountOf = (tool: string): unknown => crib.rowsOf(tool).at(-1)!['account'];
  expect(accountOf('web.echo')).toBe('billing bot');
  expect(accountOf('named.echo')).toBe('named');
  expect(accountOf('open.echo')).toBeUndefined();
});

test('a server that is listed twice, with other tools and another credential, gets each with its own tools only', async () => {
  const server = await readingAndWriting();
  const crib = await openCrib({
    config: {
      mcpServers: {
        reading: { url: server.url, tools: ['read'], credential: { bearer: NORTH, account: 'reader' } },
        writing: { url: server.url, tools: ['write'], credential: { bearer: SOUTH, account: 'writer' } },
      },
    },
  });
  const ada = await crib.connect('ada');
  expect((await ada.list()).tools.map(({ name }) => name)).toEqual(['read', 'write']);
  await Promise.all(['read', 'write', 'read', 'write'].map((name) => ada.call(name)));
  expect(server.used()).toEqual(new Set([`read with Bearer ${NORTH}`, `write with Bearer ${SOUTH}`]));
  expect(crib.rowsOf('reading.read').at(-1)!['account']).toBe('reader');
  expect(crib.rowsOf('writing.write').at(-1)!['account']).toBe('writer');
  for (const name of ['reading__write', 'writing__read'])
    expect((await ada.error('tools/call', { name, arguments: {} })).message).toBe(`Unknown tool: ${name}`);
});

/** A server with two tools, which notes the credential that each was called with. */
async function readingAndWriting(): Promise<{ url: string; used: () => Set<string> }> {
  const used = new Set<string>();
  const tools = ['read', 'write'].map((name) => ({ ...ECHO, name }));
  const { url } = await makeUp((got) => {
    const { method, params } = got.body as { method: string; params: { name: string } };
    if (method === 'tools/list') return got.reply({ tools, ttlMs: 0, cacheScope: 'private' });
    if (method !== 'tools/call') return standard(got);
    used.add(`${params.name} with ${got.request.headers.authorization}`);
    return got.reply(said('done'));
  });
  return { url, used: () => used };
}

test('each tenant has its own account for lists and calls, and a tenant without one sees nothing', async () => {
  const server = await revealing();
  const byTenant = { north: { bearer: NORTH }, elsewhere: { bearer: SOUTH, account: 'e' } };
  const crib = await openCrib({
    config: { mcpServers: { web: { url: server.url, credential: { byTenant } } } },
  });
  const [ada, cyn] = await Promise.all([crib.connect('ada'), crib.connect('cyn')]);
  expect((await cyn.list()).tools).toEqual([]);
  expect((await cyn.error('tools/call', { name: 'echo', arguments: {} })).message).toBe('Unknown tool: echo');
  expect(server.got).toEqual([]);
  expect((await ada.list()).tools).toHaveLength(1);
  await ada.call('echo');
  expect(new Set(server.got.map(({ request }) => request.headers.authorization))).toEqual(
    new Set([`Bearer ${NORTH}`]),
  );
  expect(crib.rowsOf('web.echo').at(-1)!['account']).toBe('north');
  // Once one caller may use it, it is still missing for the other.
  expect((await cyn.list()).tools).toEqual([]);
  expect((await cyn.error('tools/call', { name: 'echo', arguments: {} })).message).toBe('Unknown tool: echo');
});

test('a program gets the environment variables of its account, in one process for each account', async () => {
  const byTenant = { north: { env: { ACCOUNT: NORTH } }, south: { env: { ACCOUNT: SOUTH } } };
  const crib = await openCrib({
    config: {
      mcpServers: { desk: scripted('telling', { credential: { byTenant }, tools: ['env', 'folder'] }) },
      stages: { sanitize: { redact: [] } },
    },
  });
  const [ada, cyn] = await Promise.all([crib.connect('ada'), crib.connect('cyn')]);
  const [north, south] = await Promise.all([ada.call('env'), cyn.call('env')]);
  expect(north.content[0]!.text).toContain(NORTH);
  expect(south.content[0]!.text).toContain(SOUTH);
  expect(north.content[0]!.text).not.toContain(SOUTH);
  expect(south.content[0]!.text).not.toContain(NORTH);
});

test.each([401, 403])(
  'B5 a server that answers %i is reported to the operator, and does not ask the caller to sign in',
  async (status) => {
    let isRefused = false;
    const server = await makeUp((got) => {
      if (!isRefused) return got.body['method'] === 'tools/call' ? got.reply(said('x')) : standard(got);
      const challenge = `Bearer resource_metadata="http://127.0.0.1:1/x", scope="admin"`;
      got.response.writeHead(status, { 'www-authenticate': challenge }).end(`no ${NORTH}`);
    });
    const crib = await openCrib({
      config: { mcpServers: { web: { url: server.url, credential: { bearer: NORTH } } } },
    });
    const ada = await crib.connect('ada');
    await ada.list();
    isRefused = true;
    // What the caller's client sees is no challenge: it would ask its user to sign in somewhere, with our name on it.
    for (const method of ['tools/list', 'tools/call']) {
      const answer = await post(crib, { method, params: { name: 'echo', arguments: {} } });
      expect(answer.status).toBe(200);
      expect([...answer.headers.keys()]).not.toContain('www-authenticate');
      expect(await answer.text()).not.toMatch(/resource_metadata|127\.0\.0\.1:1\/|north-cred|-32042/);
    }
    const result = await ada.call('echo');
    expect(result.isError).toBe(true);
    expect(result.content[0]!.text).toContain('web does not accept the credential this gateway has for it.');
    expect(result.content[0]!.text).toContain('Ask its operator');
    expect(JSON.stringify(result)).not.toMatch(/resource_metadata|127\.0\.0\.1|north-cred/);
    expect(crib.rowsOf('web.echo').at(-1)!['outcome']).toBe('needs_sign_in');
  },
);

/** Sends one request as a client of 2025-06-18 does, and returns the answer with its head. */
function post(crib: Crib, message: object): Promise<Response> {
  return fetch(crib.url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${crib.keys.ada}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
  });
}

test('B5 a gateway has no sign-in page or endpoint for its servers, and names none of them', async () => {
  const server = await revealing();
  const crib = await openCrib({
    config: { mcpServers: { web: { url: server.url, credential: { bearer: NORTH } } } },
  });
  await (await crib.connect('ada')).list();
  const before = server.got.length;
  const paths = ['authorize', 'token', 'register', 'callback', 'oauth/callback', 'login', 'consent'];
  const known = ['oauth-authorization-server', 'openid-configuration', 'oauth-protected-resource'];
  for (const path of [
    ...paths,
    ...known.flatMap((name) => [`.well-known/${name}`, `.well-known/${name}/mcp`]),
  ])
    for (const method of ['GET', 'POST']) {
      const url = new URL(`/${path}?code=x&state=y&redirect_uri=https://attacker.example`, crib.url);
      const answer = await fetch(url, { method, redirect: 'manual' });
      const text = await answer.text();
      expect([path, answer.status >= 400 || path.includes('protected-resource')]).toEqual([path, true]);
      expect(answer.headers.get('location')).toBeNull();
      expect(text).not.toContain(new URL(server.url).host);
      expect(text).not.toContain('attacker.example');
    }
  expect(server.got).toHaveLength(before);
});

test('programs that were started with the credential of a tenant count among those that serve it alone', async () => {
  const entry = (token: string) =>
    scripted('telling', {
      prefix: 'always',
      env: { REVISION: '2026-07-28' },
      credential: { byTenant: { north: { env: { TOKEN: token } } } },
    });
  const crib = await openCrib({
    config: { mcpServers: { one: entry('a'), two: entry('b') }, upstreams: { maxPerTenant: 1 } },
  });
  const ada = await crib.connect('ada');
  const isListed = async (): Promise<boolean> => {
    const names = new Set((await ada.list()).tools.map(({ name }) => name));
    return names.has('one__folder') && names.has('two__folder');
  };
  await expect.poll(isListed, { timeout: 20_000 }).toBe(true);
  const pidOf = async (server: string): Promise<number> =>
    (JSON.parse((await ada.call(`${server}__folder`)).content[0]!.text) as { pid: number }).pid;
  const before = await pidOf('one');
  expect(await pidOf('one')).toBe(before);
  await pidOf('two');
  expect(await pidOf('one')).not.toBe(before);
});
