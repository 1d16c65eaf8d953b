import {
  Client as ClientV2,
  StreamableHTTPClientTransport,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as HttpTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** Where a server is, or how to start it. */
export type Address = { readonly url: string } | { readonly command: string; readonly args: string[] };

/** How a call is made. */
export interface CallOptions {
  readonly onprogress?: (progress: {
    progress: number;
    total?: number | undefined;
    message?: string | undefined;
  }) => void;
  readonly signal?: AbortSignal;
}

/** A tool's result, as an SDK hands it to its user. */
export interface CallResult {
  readonly content: readonly Record<string, unknown>[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** What the SDKs' clients have in common. */
export interface SdkClient {
  readonly serverName: string | undefined;
  listTools(): Promise<readonly Record<string, unknown>[]>;
  callTool(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<CallResult>;
  close(): Promise<void>;
}

/** Connects one kind of client. */
export type ConnectSdk = (address: Address) => Promise<SdkClient>;

const identity = { name: 'interop', version: '1.0.0' };

/** The SDK's second major version, with a way to agree on a revision. */
export function connectV2(mode: VersionNegotiationMode): ConnectSdk {
  return async (address) => {
    const client = new ClientV2(identity, { versionNegotiation: { mode } });
    const transport =
      'url' in address
        ? new StreamableHTTPClientTransport(new URL(address.url))
        : new StdioClientTransport({ ...address, stderr: 'ignore' });
    await client.connect(transport);
    return {
      serverName: client.getServerVersion()?.name,
      listTools: async () => (await client.listTools()).tools,
      callTool: async (name, args = {}, options) =>
        (await client.callTool({ name, arguments: args }, options)) as CallResult,
      close: () => client.close(),
    };
  };
}

/** The SDK's first major version, as most clients in use have it. */
export const connectV1: ConnectSdk = async (address) => {
  const client = new ClientV1(identity);
  const transport =
    'url' in address
      ? new HttpTransportV1(new URL(address.url))
      : new StdioTransportV1({ ...address, stderr: 'ignore' });
  await client.connect(transport);
  return {
    serverName: client.getServerVersion()?.name,
    async listTools() {
      const tools = [];
      let cursor: string | undefined;
      do {
        const page = await client.listTools(cursor === undefined ? {} : { cursor });
        tools.push(...page.tools);
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return tools;
    },
    callTool: async (name, args = {}, options) =>
      (await client.callTool({ name, arguments: args }, undefined, options)) as CallResult,
    close: () => client.close(),
  };
};
