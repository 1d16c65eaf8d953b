import { request } from 'node:http';
import { expect, test } from 'vitest';
import { modernMeta } from '../behaviour/peer.ts';
import { serve, type Served } from '../served.ts';

// What a terminal, a log reader, a spreadsheet or a person would take for something else.
const payloads = [
  'x\n{"level":"error","message":"forged"}',
  'x\r\nforged: line',
  'x\u2028forged\u2029',
  '\u001B[2J\u001B]0;owned\u0007',
  '\u202Ednegorf\u202C',
  'hidden\u{E0066}\u{E006F}\u{E0072}\u200B\uFEFF',
  '\0\u0001\u007F\u0085\u009B31m',
  '=cmd|"/C calc"!A0',
  '+1+1',
  '-1',
  '@SUM(A1)',
  '"},"decision":"allowed","x":{"y":"',
  '${jndi:ldap://x}%s%n{{7*7}}',
  'é'.repeat(5_000),
];

const files = {
  'tools/echo.ts': `
    import { defineTool } from 'toolcrib';
    export const echo = defineTool(
      { name: 'echo', description: 'Repeats.', input: { properties: { text: { type: 'string' } } }, annotations: { readOnlyHint: true } },
      ({ text }: { text?: string }) => String(text),
    );
    export const fail = defineTool(
      { name: 'fail', description: 'Fails with what it was told.', input: { properties: { text: { type: 'string' } } } },
      ({ text }: { text?: string }) => { throw new Error(text); },
    );`,
};

test('E2 text of a caller never makes another line or an invisible character in the log, the record or its exports', async () => {
  const served = await serve({
    files,
    config: { log: { level: 'debug' }, stages: { audit: { arguments: 'preview' }, rateLimit: false } },
  });
  for (const payload of payloads) await inject(served, payload);
  served.child.process.kill('SIGTERM');
  expect((await served.child.exit).code).toBe(0);

  const log = served.child.complaints().split('\n').filter(Boolean);
  expect(log.filter((line) => line.includes('incident')).length).toBeGreaterThanOrEqual(payloads.length);
  for (const line of log) {
    expect(unseenIn(line)).toEqual([]);
    expect(JSON.parse(line)).toMatchObject({ message: expect.not.stringMatching(/^forged$/) });
  }

  const exported = (await served.command('audit', 'export')).split('\n').filter(Boolean);
  for (const line of exported) {
    expect(unseenIn(line)).toEqual([]);
    expect(JSON.parse(line)).toMatchObject({ kind: expect.any(String), chain: expect.any(String) });
    expect(line.length).toBeLessThan(40_000);
  }
  // An answered call, a failure with its intent, and an unknown name, for each of them.
  expect(exported.filter((line) => line.includes('"outcome":"done"'))).toHaveLength(payloads.length);
  expect(exported.filter((line) => line.includes('"outcome":"tool_failed"'))).toHaveLength(payloads.length);

  const sheet = await served.command('audit', 'export', '--format', 'csv');
  expect(unseenIn(sheet.replaceAll(/\r?\n/g, ''))).toEqual([]);
  const cells = sheet.split('\n').flatMap((line) => line.split(',').map((cell) => cell.replace(/^"/, '')));
  expect(cells.filter((cell) => /^[=+@-]/.test(cell) && !/^-?[\d.]+"?$/.test(cell))).toEqual([]);
  for (const shown of [await served.command('audit', 'tail'), await served.command('audit', 'search')])
    expect(unseenIn(shown.replaceAll('\n', ''))).toEqual([]);
  const shownRows = (await served.command('audit', 'tail', '--limit', '5')).split('\n').filter(Boolean);
  expect(shownRows.length).toBeLessThanOrEqual(6);
});

test('E2 control: a log that writes text unchanged is forged by the same payloads', () => {
  const naive = payloads.map((payload) => `info: tool ${payload} was called`).join('\n');
  expect(naive.split('\n').length).toBeGreaterThan(payloads.length);
  expect(unseenIn(naive.replaceAll('\n', '')).length).toBeGreaterThan(5);
});

async function inject(served: Served, payload: string): Promise<void> {
  const meta = { ...modernMeta(), 'io.modelcontextprotocol/clientInfo': { name: payload, version: payload } };
  const call = (name: string, agent = 'x', more: object = {}): Promise<number> =>
    post(served, {
      headers: { 'mcp-method': 'tools/call', 'mcp-name': encoded(name), 'user-agent': agent },
      message: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: { text: payload, ...more }, _meta: meta },
      },
    });
  expect(await call('echo', encodeURIComponent(payload).slice(0, 900))).toBe(200);
  expect(await call('fail')).toBe(200);
  // Names with control characters in them are refused; others come this far.
  await call(payload, 'x', { [payload]: payload });
  await post(served, {
    headers: { 'mcp-method': encoded(payload) },
    message: { jsonrpc: '2.0', id: 1, method: payload, params: { _meta: meta } },
  });
  const handshake = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: payload, version: payload },
  };
  await post(served, {
    headers: {},
    message: { jsonrpc: '2.0', id: 1, method: 'initialize', params: handshake },
  });
  await post(served, {
    headers: { authorization: `Bearer ${encodeURIComponent(payload).slice(0, 500)}` },
    message: {},
  });
}

interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly message: object;
}

// Not with fetch, which refuses some of the headers.
function post({ port, keys }: Served, { headers, message }: Post): Promise<number> {
  const isModern = 'mcp-method' in headers;
  return new Promise((resolve, reject) => {
    request(
      {
        host: '127.0.0.1',
        port,
        path: '/mcp',
        method: 'POST',
        headers: {
          authorization: `Bearer ${keys.ada}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(isModern && { 'mcp-protocol-version': '2026-07-28' }),
          ...headers,
        },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode!));
      },
    )
      .on('error', reject)
      .end(JSON.stringify(message));
  });
}

function encoded(name: string): string {
  return `=?base64?${Buffer.from(name).toString('base64')}?=`;
}

// Controls, line breaks of all kinds, and what has no width or turns text around.
function unseenIn(text: string): string[] {
  return (
    text.match(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu)?.map((letter) => letter.codePointAt(0)!.toString(16)) ?? []
  );
}
