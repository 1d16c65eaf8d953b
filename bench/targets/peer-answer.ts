interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly arguments?: { readonly text?: string }; readonly protocolVersion?: string };
}

const serverInfo = { name: 'bare', version: '1.0.0' };
const capabilities = { tools: {} };
const cached = { ttlMs: 3_600_000, cacheScope: 'public' };
const echo = {
  name: 'echo',
  description: 'Repeats a text.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
};

/** The answer of a server that knows just enough of the protocol for any client; `undefined` to a notification. */
export function peerAnswer(text: string): string | undefined {
  const message = JSON.parse(text) as Message;
  if (message.id === undefined) return undefined;
  return JSON.stringify({ jsonrpc: '2.0', id: message.id, ...outcomeOf(message) });
}

function outcomeOf({ method, params }: Message): object {
  switch (method) {
    case 'server/discover':
      return done({ supportedVersions: ['2026-07-28'], capabilities, serverInfo, ...cached });
    case 'initialize':
      return { result: { protocolVersion: params?.protocolVersion, capabilities, serverInfo } };
    case 'tools/list':
      return done({ tools: [echo], ...cached });
    case 'tools/call':
      return done({ content: [{ type: 'text', text: params?.arguments?.text }] });
    default:
      return { error: { code: -32601, message: 'Method not found' } };
  }
}

function done(members: object): object {
  return { result: { resultType: 'complete', ...members } };
}
