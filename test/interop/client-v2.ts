import {
  Client,
  LOG_LEVEL_META_KEY,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type LoggingLevel,
  type VersionNegotiationMode,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
  answers,
  capabilities,
  identity,
  tellingFetch,
  type Address,
  type CallResult,
  type ConnectSdk,
  type Hooks,
} from './clients.ts';

/** The SDK's second major version, with a way to agree on a revision. */
export function connectV2(mode: VersionNegotiationMode): ConnectSdk {
  return async (address, hooks = {}) => {
    const client = makeClient(mode, hooks);
    const transport = transportTo(address, hooks);
    await client.connect(transport);
    const isModern = client.getProtocolEra() === 'modern';
    let logLevel: LoggingLevel | undefined;
    return {
      serverName: client.getServerVersion()?.name,
      sessionId: () => ('sessionId' in transport ? transport.sessionId : undefined),
      listTools: async () => (await client.listTools()).tools,
      callTool: async (name, args = {}, options) => {
        const meta = logLevel && { _meta: { [LOG_LEVEL_META_KEY]: logLevel } };
        return (await client.callTool({ name, arguments: args, ...meta }, options)) as CallResult;
      },
      listResources: async () => (await client.listResources()).resources,
      listResourceTemplates: async () => (await client.listResourceTemplates()).resourceTemplates,
      readResource: async (uri) => (await client.readResource({ uri })).contents,
      async subscribe(uri) {
        if (isModern) {
          const subscription = await client.listen({ resourceSubscriptions: [uri] });
          return () => subscription.close();
        }
        await client.subscribeResource({ uri });
        return async () => void (await client.unsubscribeResource({ uri }));
      },
      listPrompts: async () => (await client.listPrompts()).prompts,
      getPrompt: (name, args = {}) => client.getPrompt({ name, arguments: args }),
      complete: async (ref, name, value) =>
        (await client.complete({ ref, argument: { name, value } })).completion.values,
      async setLoggingLevel(level) {
        // The stateless revision has no such request: every call says which log level it wants.
        if (isModern) logLevel = level;
        else await client.setLoggingLevel(level);
      },
      async endSession() {
        if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession();
      },
      close: () => client.close(),
    };
  };
}

function makeClient(
  mode: VersionNegotiationMode,
  { answers: canAnswer = true, toolsChanged, resourceUpdated, logged, failed }: Hooks,
): Client {
  const client = new Client(identity, {
    versionNegotiation: { mode },
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
    client.setRequestHandler('elicitation/create', ({ params }) => answers.elicit(params));
    client.setRequestHandler('sampling/createMessage', answers.sample);
    client.setRequestHandler('roots/list', answers.roots);
  }
  client.setNotificationHandler('notifications/message', ({ params }) => logged?.(params));
  client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
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
