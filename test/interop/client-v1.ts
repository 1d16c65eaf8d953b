import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import {
  allPages,
  answers,
  capabilities,
  identity,
  tellingFetch,
  type Address,
  type CallResult,
  type ConnectSdk,
  type Hooks,
} from './clients.ts';

/** The SDK's first major version, as most clients in use have it. */
export const connectV1: ConnectSdk = async (address, hooks = {}) => {
  const client = makeClient(hooks);
  const transport = transportTo(address, hooks);
  await client.connect(transport);
  return {
    serverName: client.getServerVersion()?.name,
    sessionId: () => ('sessionId' in transport ? transport.sessionId : undefined),
    listTools: () =>
      allPages(async (page) => {
        const { tools, nextCursor } = await client.listTools(page);
        return { items: tools, nextCursor };
      }),
    callTool: async (name, args = {}, options) =>
      (await client.callTool({ name, arguments: args }, undefined, options)) as CallResult,
    listResources: () =>
      allPages(async (page) => {
        const { resources, nextCursor } = await client.listResources(page);
        return { items: resources, nextCursor };
      }),
    listResourceTemplates: async () => (await client.listResourceTemplates()).resourceTemplates,
    readResource: async (uri) => (await client.readResource({ uri })).contents,
    async subscribe(uri) {
      await client.subscribeResource({ uri });
      return async () => void (await client.unsubscribeResource({ uri }));
    },
    listPrompts: async () => (await client.listPrompts()).prompts,
    getPrompt: (name, args = {}) => client.getPrompt({ name, arguments: args }),
    complete: async (ref, name, value) =>
      (await client.complete({ ref, argument: { name, value } })).completion.values,
    setLoggingLevel: async (level) => void (await client.setLoggingLevel(level)),
    async endSession() {
      if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
    },
    close: () => client.close(),
  };
};

function makeClient({
  answers: canAnswer = true,
  toolsChanged,
  resourceUpdated,
  logged,
  failed,
}: Hooks): Client {
  const client = new Client(identity, {
    capabilities: canAnswer ? capabilities : {},
    listChanged: {
      tools: {
        debounceMs: 0,
        onChanged: (error, tools) =>
          error ? failed?.(error) : toolsChanged?.(tools!.map(({ name }) => name)),
      },
    },
  });
  if (canAnswer) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => answers.elicit(params));
    client.setRequestHandler(CreateMessageRequestSchema, answers.sample);
    client.setRequestHandler(ListRootsRequestSchema, answers.roots);
  }
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => logged?.(params));
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
    resourceUpdated?.(params.uri),
  );
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- A client is no event target.
  if (failed) client.onerror = failed;
  return client;
}

function transportTo(
  address: Address,
  hooks: Hooks,
): SSEClientTransport | StreamableHTTPClientTransport | StdioClientTransport {
  if (!('url' in address)) return new StdioClientTransport({ ...address, stderr: 'ignore' });
  const url = new URL(address.url);
  return address.sse
    ? new SSEClientTransport(url)
    : new StreamableHTTPClientTransport(url, { fetch: tellingFetch(hooks) });
}
