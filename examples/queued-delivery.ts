import { createServer, defineTool, ToolRegistry } from 'toolcrib';
import { listen } from 'toolcrib/node';

// A server that answers at once with {"status":"queued"} and sends results on the session's own stream.
const greet = defineTool(
  { name: 'greet', description: 'Greets. Returns a greeting. Use it to try a connection.' },
  () => ({ greeting: 'Hello!' }),
);
const server = createServer({ source: new ToolRegistry().registerTool(greet), delivery: 'queued' });
const listening = await listen(server, { port: Number(process.env['PORT'] ?? 0) });

// The client from here on runs in a browser as it is.
const mcpUrl = listening.url;
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

async function post(message: object, more: Record<string, string> = {}): Promise<Response> {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  return fetch(mcpUrl, { method: 'POST', headers: { ...headers, ...more }, body });
}

const params = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'browser', version: '1' },
};
const opened = await post({ id: 1, method: 'initialize', params });
const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
await post({ method: 'notifications/initialized' }, session);

// An EventSource cannot send the session's header, so the stream is read with fetch.
const eventSource = new EventTarget();
const stream = await fetch(mcpUrl, { headers: { accept: 'text/event-stream', ...session } });
void readEvents(stream);

async function readEvents({ body }: Response): Promise<void> {
  let text = '';
  for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
    const events = (text + chunk).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: ?(.*)$/m.exec(event)?.[1];
      if (data) eventSource.dispatchEvent(new MessageEvent('message', { data }));
    }
  }
}

const result = new Promise<void>((done) => {
  eventSource.addEventListener('message', (event) => {
    const response = JSON.parse(String((event as MessageEvent).data)) as {
      result?: { content?: { text: string }[] };
    };
    const text = response.result?.content?.[0]?.text;
    if (text === undefined) return;
    console.log('Tool result:', JSON.stringify(JSON.parse(text)));
    done();
  });
});

const answer = await post({ id: Math.random(), method: 'tools/call', params: { name: 'greet' } }, session);
console.log(await answer.text());
await result;
await listening.close(0);
console.log('Done.');
