import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { revisions } from '../behaviour/matrix.ts';
import { requestAnswering } from '../behaviour/answering.ts';
import type { Json, Peer } from '../behaviour/peer.ts';
import { serve, type Served } from '../served.ts';
import { audience, startIssuer } from './issuer.ts';

// Every way in which a tool can leak something; what it leaks is from its environment and its files.
const leaky = `
  import { readFileSync } from 'node:fs';
  import { definePrompt, defineResource, defineTool, type ToolContext } from 'toolcrib';
  const { pepper, digestKey, signingKey } = JSON.parse(readFileSync(process.env.CANARY_FILE!, 'utf8'));
  const given = {
    live: [process.env.CANARY_ENV!, pepper, digestKey],
    signing: [signingKey],
    own: [process.env.BILLING_API_TOKEN!],
  }[process.env.CANARY_LEAKS!]!;
  const all = process.env.CANARY_LEAKS === 'live' ? [...given, process.env.CANARY_GITHUB!] : given;
  const text = all.join(' and ');
  const coded = given.flatMap((one) => [
    ...['', 'x', 'xy'].map((pad) => Buffer.from(pad + one + '!').toString('base64')),
    Buffer.from(one).toString('base64url'), Buffer.from(one).toString('hex'), encodeURIComponent(one), JSON.stringify(one),
  ]);
  const reads = { annotations: { readOnlyHint: true } };
  const ways: Record<string, (context: ToolContext) => unknown> = {
    text: () => text,
    coded: () => coded.join('\\n'),
    data: () => ({ deep: [{ text }] }),
    envelope: () => ({ error: text }),
    meta: () => ({ content: [{ type: 'text', text: 'x', _meta: { text } }], _meta: { text } }),
    uri: () => ({ type: 'resource_link', uri: 'note://' + encodeURIComponent(all[0]!), name: text }),
    throws: () => { throw new Error(text); },
    rejects: async () => { throw Object.assign(new TypeError('x'), { cause: new Error(text), config: { headers: { authorization: text } } }); },
    throwsText: () => { throw text; },
    progress: (context) => { context.progress(1, 2, text); return 'said'; },
    log: (context) => { context.log('error', { text: [text] }, 'logger'); return 'said'; },
    asks: async (context) => { await context.elicit({ message: text, schema: { type: 'object', properties: {} }, key: 'k' }); return 'asked'; },
    cycle: () => { const loop: Record<string, unknown> = { text }; loop.self = loop; return loop; },
  };
  export const tools = Object.entries(ways).flatMap(([name, run]) => [
    defineTool({ name: 'leak_' + name, description: 'Gives something away.', ...reads }, (_args, context) => run(context)),
    defineTool({ name: 'act_' + name, description: 'Gives something away.' }, (_args, context) => run(context)),
  ]);
  export const note = defineResource({ uri: 'note://a', name: 'a' }, () => text);
  export const broken = defineResource({ uri: 'note://b', name: 'b' }, () => { throw new Error(text); });
  export const prompt = definePrompt({ name: 'p', arguments: { x: { complete: () => [text] } } }, () => text);`;

// Writes down every span as an operator's exporter would get it.
const tracing = `
  import { appendFileSync } from 'node:fs';
  import { trace } from '${fileURLToPath(import.meta.resolve('@opentelemetry/api'))}';
  import { BasicTracerProvider, SimpleSpanProcessor, type ReadableSpan } from '${fileURLToPath(import.meta.resolve('@opentelemetry/sdk-trace-base'))}';
  const file = process.env.TMPDIR + '/spans';
  appendFileSync(file, '');
  const write = ({ name, attributes, status, events, links }: ReadableSpan) =>
    appendFileSync(file, JSON.stringify({ name, attributes, status, events, links }) + '\\n');
  const exporter = { export: (spans: ReadableSpan[]) => spans.forEach(write), shutdown: async () => {} };
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));`;

interface Planted {
  readonly served: Served;
  readonly canaries: Readonly<Record<string, string>>;
  readonly temporary: string;
  readonly jwt: string;
}

async function plant(leaks: 'live' | 'signing' | 'own'): Promise<Planted> {
  const temporary = mkdtempSync(join(tmpdir(), 'toolcrib-canary-'));
  onTestFinished(() => rmSync(temporary, { recursive: true, force: true }));
  const issuer = await startIssuer();
  const env = {
    TMPDIR: temporary,
    CANARY_ENV: `c"n/ry+%é ${randomBytes(18).toString('base64')}`,
    CANARY_GITHUB: `ghp_${randomBytes(27).toString('base64').replaceAll(/[+/]/g, 'x').slice(0, 36)}`,
    BILLING_API_TOKEN: `billing-${randomBytes(18).toString('hex')}`,
    CANARY_LEAKS: leaks,
  };
  const staff = { tools: ['*'], prompts: ['*'], resources: ['*'] };
  const served = await serve({
    // The module finds the secrets by the folder it is in.
    files: {
      'tools/leaky.ts': leaky.replace(
        'process.env.CANARY_FILE!',
        "new URL('../toolcrib.secrets', import.meta.url)",
      ),
      'tools/tracing.ts': tracing,
    },
    env,
    config: {
      log: { level: 'debug' },
      auth: { keys: {}, jwt: { issuer: issuer.url, audience, jwks: `${issuer.url}/jwks` } },
      access: [
        { roles: ['staff'], ...staff },
        { roles: ['${CANARY_ENV}'], ...staff },
      ],
      stages: { rateLimit: false, circuitBreak: false, trace: {}, audit: { arguments: 'preview' } },
    },
  });
  const secrets = JSON.parse(readFileSync(join(served.folder, 'toolcrib.secrets'), 'utf8')) as Record<
    string,
    string
  >;
  const jwt = await issuer.token({ roles: ['staff'] });
  const canaries = {
    'the API key': served.keys.ada,
    'the pepper': secrets['pepper']!,
    'the digest key': secrets['digestKey']!,
    'the signing key': secrets['signingKey']!.split('\n')[1]!,
    'the token': jwt,
    'the signature of the token': jwt.split('.')[2]!,
    'the secret of the configuration': env.CANARY_ENV,
    'the GitHub token of a tool': env.CANARY_GITHUB,
    'the other token of a tool': env.BILLING_API_TOKEN,
  };
  return { served, canaries, temporary, jwt };
}

interface Left {
  readonly secrets: Readonly<Record<string, string>>;
  readonly answers: readonly string[];
  readonly outputs: Readonly<Record<string, string>>;
}

let left: Promise<Left> | undefined;

/** What a server left of secrets that it was given in the place of names, for all tests of that. */
function leftOfNames(): Promise<Left> {
  return (left ??= plantNames((secret) => [secret]));
}

/** What a server leaves of names that are made of secrets. */
async function plantNames(namesOf: (secret: string) => readonly string[]): Promise<Left> {
  const { served, canaries, temporary, jwt } = await plant('live');
  const { 'the API key': key, 'the token': token, 'the secret of the configuration': env } = canaries;
  const secrets = { key: key!, token: token!, env: env! };
  const answers: string[] = [];
  for (const name of Object.values(secrets).flatMap(namesOf))
    answers.push(...(await misname(served, jwt, name)));
  await refuse(served, jwt, { 'tools/call': env!, 'prompts/get': token!, 'tasks/get': key! });
  return { secrets, answers, outputs: await collect(served, temporary) };
}

test('E4 no secret leaks through responses, logs, audit records, metrics, traces or files, whatever tools and callers do', async () => {
  const { served, canaries, temporary, jwt } = await plant('live');
  const answers = [...(await provoke(served, jwt)), ...(await misuse(served, jwt))];
  const outputs = await collect(served, temporary);
  const { 'the other token of a tool': _own, 'the signing key': _signing, ...known } = canaries;
  expect(hits({ answers: answers.join('\n'), ...outputs }, known)).toEqual([]);
  expect(outputs['spans']!.includes('"name":"tools/call leak_throws"')).toBe(true);
  expect(answers.join('').split('[redacted:').length).toBeGreaterThan(50);
});

test('E4 the key that signs the record does not leak in any form, even if a tool reads it from its file', async () => {
  const { served, canaries, temporary, jwt } = await plant('signing');
  const answers = await provoke(served, jwt);
  const outputs = await collect(served, temporary);
  expect(
    hits({ answers: answers.join('\n'), ...outputs }, { 'the signing key': canaries['the signing key']! }),
  ).toEqual([]);
});

test('E4 a credential that is sent in place of a name is stored neither in the record nor in the database', async () => {
  const { secrets, answers, outputs } = await leftOfNames();
  const { spans: _seen, ...kept } = outputs;
  expect(partsIn({ answers: answers.join('\n'), ...kept }, secrets)).toEqual([]);
});

test('E4 when a long name is cut inside a secret, no part of the secret is stored', async () => {
  const { secrets, answers, outputs } = await plantNames((secret) =>
    [165, 176, 188].map((letters) => padded(secret, letters)),
  );
  const { spans: _seen, ...kept } = outputs;
  // Every one of them is on record, up to the cut.
  for (const name of ['tool', 'method', 'uri', 'client'])
    expect([name, kept['audit export']!.match(new RegExp(`"${name}":"[^"]*x{150}`, 'g'))]).toEqual([
      name,
      expect.any(Array),
    ]);
  expect(partsIn({ answers: answers.join('\n'), ...kept }, secrets)).toEqual([]);
});

test('E4 when a long refused value is cut inside a secret, no part of the secret is stored', async () => {
  const { secrets, outputs } = await leftOfNames();
  expect(outputs['audit export']!.match(/"target":"x{150}/g)).toHaveLength(3);
  expect(partsIn(outputs, secrets)).toEqual([]);
});

test('E4 a name that a caller made up is in no trace', async () => {
  const { secrets, outputs } = await leftOfNames();
  const spans = outputs['spans']!;
  expect(spans.includes('"name":"resources/read"')).toBe(true);
  expect(partsIn({ spans }, secrets)).toEqual([]);
});

test('E4 control: the search for parts of a secret finds what a cut leaves of it', () => {
  const secret = `s"/+%é ${randomBytes(24).toString('base64')}`;
  for (const letters of [165, 176, 188]) {
    const cut = padded(secret, letters).slice(0, 200);
    for (const text of [
      cut,
      JSON.stringify(cut),
      encodeURIComponent(cut),
      Buffer.from(cut).toString('latin1'),
    ])
      expect(partsIn({ place: text }, { secret })).not.toEqual([]);
  }
  expect(partsIn({ place: 'x'.repeat(1_000) }, { secret })).toEqual([]);
});

test('E4 a secret that only a tool knows does not leak through its failures or its results', async () => {
  const { served, canaries, temporary, jwt } = await plant('own');
  const answers = await provoke(served, jwt);
  const outputs = await collect(served, temporary);
  const own = { 'the other token of a tool': canaries['the other token of a tool']! };
  expect(hits({ answers: answers.join('\n'), ...outputs }, own)).toEqual([]);
});

test('E4 control: the search finds each secret where it is known to be, in every form', () => {
  const secret = `s"/+%é ${randomBytes(12).toString('base64')}`;
  const wrapped = [
    secret,
    JSON.stringify(secret),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('hex'),
    ...['', 'x', 'xy'].map((pad) => Buffer.from(`${pad}${secret}tail`).toString('base64')),
    ...['', 'x', 'xy'].map((pad) => Buffer.from(`${pad}${secret}tail`).toString('base64url')),
  ];
  for (const text of wrapped) expect(hits({ place: `before ${text} after` }, { secret })).toHaveLength(1);
  expect(hits({ place: 'nothing' }, { secret })).toEqual([]);
});

// Lets every tool give everything away, in every revision.
async function provoke(served: Served, jwt: string): Promise<string[]> {
  const heard: string[] = [];
  for (const { version, era } of revisions) {
    const capabilities = { elicitation: { form: {} } };
    const peer = await served.connect('ada', { version, capabilities });
    if (era === 'legacy') await peer.result('logging/setLevel', { level: 'debug' });
    const logLevel = { 'io.modelcontextprotocol/logLevel': 'debug' };
    const _meta = { progressToken: 'p', ...(era === 'modern' && logLevel) };
    const tools = (await peer.list()).tools.map(({ name }) => String(name));
    for (const name of tools) await perform(peer, 'tools/call', { name, arguments: {}, _meta });
    for (const uri of ['note://a', 'note://b']) await peer.request('resources/read', { uri });
    await peer.request('prompts/get', { name: 'p' });
    const ref = { type: 'ref/prompt', name: 'p' };
    await peer.request('completion/complete', { ref, argument: { name: 'x', value: '' } });
    heard.push(...peer.wire.heard);
  }
  const signedIn = await post(served, { authorization: `Bearer ${jwt}` }, call('leak_text'));
  expect(signedIn).toContain('"result"');
  return [...heard, signedIn];
}

async function perform(peer: Peer, method: string, params: Json): Promise<void> {
  await requestAnswering(peer, { method, params }, () => ({ action: 'accept', content: {} })).catch(() => {});
}

// Callers put their credentials where they do not belong.
async function misuse(served: Served, jwt: string): Promise<string[]> {
  const answers: string[] = [];
  for (const secret of [served.keys.ada, jwt]) {
    const good = { authorization: `Bearer ${secret}` };
    const tries: Promise<string>[] = [
      post({ url: `${served.url}?api_key=${secret}&access_token=${secret}` }, {}, call('leak_text')),
      post(served, { authorization: secret }, call('leak_text')),
      post(
        served,
        { authorization: `Basic ${Buffer.from(`x:${secret}`).toString('base64')}` },
        call('leak_text'),
      ),
      post(served, { authorization: `Bearer ${secret}x` }, call('leak_text')),
      post(served, { ...good, 'x-api-key': secret }, call('leak_text')),
      post(served, { ...good, 'mcp-session-id': secret }, call('leak_text')),
      post(served, { ...good, 'last-event-id': secret, 'user-agent': secret }, call('leak_text')),
      post(served, good, call('leak_text', { key: secret })),
      post(served, good, `{"broken": "${secret}`),
    ];
    answers.push(...(await Promise.all(tries)));
  }
  return answers;
}

// Callers send a secret in place of a name, and read the response.
async function misname(served: Served, jwt: string, secret: string): Promise<string[]> {
  const answers: string[] = [];
  const clientInfo = { name: secret, version: '1' };
  const named = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const json = (method: string, params: object = {}): string =>
    JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  for (const credential of [served.keys.ada, jwt]) {
    const good = { authorization: `Bearer ${credential}` };
    answers.push(
      await post(served, good, call(secret)),
      await post(served, good, json('resources/read', { uri: `note://${secret}` })),
      await post(served, good, json('prompts/get', { name: secret })),
    );
    // The error names the unknown method or argument to its sender, and it must go nowhere else.
    await post(served, good, json(secret));
    await post(served, good, call('leak_text', { [secret]: [secret] }));
    const opened = await post(served, good, json('initialize', named));
    const later = { ...good, 'mcp-session-id': /"mcp-session-id","([^"]+)"/.exec(opened)![1]! };
    await post(served, later, '{"jsonrpc":"2.0","method":"notifications/initialized"}');
    answers.push(opened, await post(served, later, call('leak_text')));
  }
  return answers;
}

// Messages whose header names another method are refused with the target they name.
async function refuse(
  served: Served,
  jwt: string,
  byMethod: Readonly<Record<string, string>>,
): Promise<void> {
  const headers = {
    authorization: `Bearer ${jwt}`,
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'ping',
  };
  // One row stands for all of a method within a second.
  for (const [method, secret] of Object.entries(byMethod)) {
    const params = { name: padded(secret, 180) };
    await post(served, headers, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
  }
}

// Not of letters to its end, since tokens are known by where they begin.
function padded(secret: string, letters: number): string {
  return `${'x'.repeat(letters - 1)} ${secret}`;
}

function call(name: string, args: object = {}): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });
}

async function post(
  { url }: Pick<Served, 'url'>,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<string> {
  const type = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const response = await fetch(url, { method: 'POST', headers: { ...type, ...headers }, body });
  return JSON.stringify([...response.headers]) + (await response.text());
}

// Everything the server has left anywhere.
async function collect(served: Served, temporary: string): Promise<Record<string, string>> {
  const authorization = `Bearer ${served.keys.watcher}`;
  const metrics = await (await fetch(new URL('/metrics', served.url), { headers: { authorization } })).text();
  expect(metrics).toContain('toolcrib_record_ready');
  served.child.process.kill('SIGTERM');
  expect((await served.child.exit).code).toBe(0);
  const exports = {
    'audit export': await served.command('audit', 'export'),
    'audit export as CSV': await served.command('audit', 'export', '--format', 'csv'),
    'audit tail': await served.command('audit', 'tail'),
    'keys list': await served.command('keys', 'list'),
    check: await served.command('check'),
  };
  expect(exports['audit export']).toContain('"kind"');
  const files = [...filesIn(served.folder), ...filesIn(temporary)]
    .filter((file) => !/toolcrib\.secrets$|[/]spans$/.test(file))
    .map((file): [string, string] => [relative(served.folder, file), readFileSync(file, 'latin1')]);
  expect(files.map(([name]) => name)).toContain('toolcrib.db');
  const spans = readFileSync(join(temporary, 'spans'), 'utf8');
  return {
    metrics,
    spans,
    stdout: served.greeting,
    stderr: served.child.complaints(),
    ...exports,
    ...Object.fromEntries(files),
  };
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

function hits(places: Readonly<Record<string, string>>, secrets: Readonly<Record<string, string>>): string[] {
  return Object.entries(secrets).flatMap(([what, secret]) => {
    const forms = formsOf(secret);
    return Object.entries(places).flatMap(([place, text]) => {
      const at = forms.map((form) => text.indexOf(form)).find((index) => index >= 0);
      return at === undefined ? [] : [`${what} in ${place}: ${text.slice(Math.max(0, at - 300), at + 20)}`];
    });
  });
}

const PART = 12;

// Where any piece of a secret is that is long enough to be told from chance.
function partsIn(
  places: Readonly<Record<string, string>>,
  secrets: Readonly<Record<string, string>>,
): string[] {
  const parts = new Map<string, string>();
  for (const [what, secret] of Object.entries(secrets))
    for (const form of formsOf(secret))
      for (let at = 0; at + PART <= form.length; at++) parts.set(form.slice(at, at + PART), what);
  return Object.entries(places).flatMap(([place, text]) => {
    for (let at = 0; at + PART <= text.length; at++) {
      const what = parts.get(text.slice(at, at + PART));
      if (what !== undefined) return [`${what} in ${place}: ${text.slice(Math.max(0, at - 300), at + 20)}`];
    }
    return [];
  });
}

// As it is, as files hold its bytes, and in every form it is likely to be written in.
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
  });
  return [
    secret,
    bytes.toString('latin1'),
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...base64,
    ...base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
  ];
}
