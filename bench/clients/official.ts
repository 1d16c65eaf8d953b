import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { peerProgram, type Connect } from './peer.ts';

/** Connects the official client, which finds out what the server speaks or shakes hands at once. */
export function connectOfficial(mode: 'auto' | 'legacy'): Connect {
  return async ({ url }) => {
    const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode } });
    await client.connect(
      url === undefined
        ? new StdioClientTransport({ command: process.execPath, args: [peerProgram] })
        : new StreamableHTTPClientTransport(new URL(url)),
    );
    // As its users do: what was listed is kept for the checks of results.
    await client.listTools();
    return {
      async call(text) {
        const { content } = await client.callTool({ name: 'echo', arguments: { text } });
        const [block] = content;
        return block?.type === 'text' ? block.text : '';
      },
    };
  };
}
