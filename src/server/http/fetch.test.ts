import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { localCaller } from '../../core/caller.ts';
import { ToolRegistry } from '../../core/registry.ts';
import { defineTool } from '../../core/tool.ts';
import { metaKeys } from '../../protocol/wire/meta.ts';
import { createServer } from '../create-server.ts';

const MODERN = '2026-07-28';

function open() {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const outcomes: string[] = [];
  const work = defineTool({ name: 'work', description: 'Works.' }, async (_args, { progress, signal }) => {
    progress(1);
    await released;
    progress(2);
    outcomes.push(signal.aborted ? 'stopped' : 'finished');
    return 'worked';
  });
  const server = createServer({
    source: new ToolRegistry().registerTool(work),
    authenticate: () => localCaller,
    log: (_level, message) => outcomes.push(message),
  });
  return { server, release, outcomes };
}

function call(version: string): Request {
  const modern = version === MODERN;
  const meta = modern && { [metaKeys.protocolVersion]: version, [metaKeys.clientCapabilities]: {} };
  return new Request('http://localhost/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'mcp-protocol-version': version,
      ...(modern && { 'mcp-method': 'tools/call', 'mcp-name': 'work' }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'work', _meta: { ...meta, progressToken: 1 } },
    }),
  });
}

// A failure after the reader has left would be an unhandled rejection of the process.
test.each([
  [MODERN, 'stopped'],
  ['2025-06-18', 'finished'],
])(
  'a reader that leaves the event stream causes no error; of %s the call is %s',
  async (version, outcome) => {
    const { server, release, outcomes } = open();
    const reader = (await server.fetch(call(version))).body!.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('notifications/progress');
    await reader.cancel();
    release();
    await setImmediate();
    expect(outcomes).toEqual([outcome]);
  },
);

test('a body over the limit is refused, with or without a declared length', async () => {
  const server = createServer({
    source: new ToolRegistry(),
    authenticate: () => localCaller,
    maxBodyBytes: 100,
  });
  const post = (body: string | ReadableStream, headers: Record<string, string> = {}): Promise<Response> =>
    server.fetch(
      new Request('http://localhost/mcp', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
        duplex: 'half',
      }),
    );
  const long = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { pad: 'x'.repeat(100) } });
  expect((await post(long, { 'content-length': String(long.length) })).status).toBe(413);
  expect((await post(new Blob([long]).stream())).status).toBe(413);
  expect((await post('{"jsonrpc":"2.0","id":1,"method":"ping"}')).status).toBe(200);
});
