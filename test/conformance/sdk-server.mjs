// A server with everything the suite asks for, made with the official SDK: "v1" or "v2", over "http" or "stdio".
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { localhostHostValidation, localhostOriginValidation } from '@modelcontextprotocol/node';
import { prompts, read, resources, template, tools } from './sdk-tools.mjs';

const [version, way] = process.argv.slice(2);
const sdk = await (version === 'v1' ? useV1() : useV2());
const passing = { tools: false, prompts: false };
const notifiers = new Set();

if (way === 'stdio') await sdk.serveStdio();
else serveHttp(await sdk.createHandler());

/** Handlers of one server, whichever SDK it is made with. */
function handlersFor(server) {
  const change = (kind) => {
    passing[kind] = !passing[kind];
    for (const notify of notifiers) notify[kind]();
  };
  const changes = { changeTools: () => change('tools'), changePrompts: () => change('prompts') };
  const named = (kind, what) =>
    passing[kind] ? [{ ...what, name: 'test_passing', description: 'Comes and goes.' }] : [];
  return {
    'tools/list': () => ({
      tools: [...tools.values()]
        .map((tool) => tool.listed)
        .concat(named('tools', { inputSchema: { type: 'object' } })),
    }),
    'tools/call': ({ name, arguments: args = {} }, extra) => {
      const tool = tools.get(name);
      if (!tool) throw sdk.invalidParams(`Unknown tool: ${name}`);
      return sdk.run((context) => tool.call(args, { ...context, ...changes }), { server, extra });
    },
    'prompts/list': () => ({
      prompts: [...prompts.values()].map((prompt) => prompt.listed).concat(named('prompts', {})),
    }),
    'prompts/get': ({ name, arguments: args = {} }, extra) => {
      const prompt = prompts.get(name);
      if (!prompt) throw sdk.invalidParams(`Unknown prompt: ${name}`);
      return sdk.run((context) => prompt.get(args, context), { server, extra });
    },
    'resources/list': () => ({ resources }),
    'resources/templates/list': () => ({ resourceTemplates: [template] }),
    'resources/read': ({ uri }) => {
      const contents = read(uri);
      if (!contents) throw sdk.notFound(uri);
      return { contents: [contents] };
    },
    'completion/complete': () => ({ completion: { values: ['test', 'testing'], total: 2, hasMore: false } }),
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
  };
}

function optionsOf() {
  return {
    capabilities: {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      logging: {},
      completions: {},
    },
  };
}

function tellOf(server) {
  const notify = {
    tools: () => void server.sendToolListChanged().catch(() => {}),
    prompts: () => void server.sendPromptListChanged().catch(() => {}),
  };
  notifiers.add(notify);
  // The SDKs' own objects, which have no events.
  Object.assign(server, { onclose: () => notifiers.delete(notify) });
}

async function useV1() {
  const { Server } = await import('@modelcontextprotocol/sdk/server/index.js');
  const { StreamableHTTPServerTransport } =
    await import('@modelcontextprotocol/sdk/server/streamableHttp.js');
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const types = await import('@modelcontextprotocol/sdk/types.js');
  const schemas = Object.values(types).filter((each) => each?.shape?.method?.value);
  const schemaOf = (method) => schemas.find((each) => each.shape.method.value === method);
  const create = () => {
    const server = new Server({ name: 'sdk-v1', version: '1.0.0' }, optionsOf());
    for (const [method, handle] of Object.entries(handlersFor(server)))
      server.setRequestHandler(schemaOf(method), ({ params }, extra) => handle(params ?? {}, extra));
    tellOf(server);
    return server;
  };
  const Answer = types.ResultSchema;
  return {
    invalidParams: (message) => new types.McpError(-32602, message),
    notFound: (uri) => new types.McpError(-32002, 'Resource not found', { uri }),
    serveStdio: () => create().connect(new StdioServerTransport()),
    createHandler: () => sessions(create, StreamableHTTPServerTransport),
    // This SDK asks in the middle of a call, one question after the other.
    async run(work, { server, extra }) {
      const answers = {};
      for (let state; ;) {
        const result = await work({
          ...voiceOf({
            token: extra._meta?.progressToken,
            notify: extra.sendNotification,
          }),
          answers,
          state,
          capabilities: server.getClientCapabilities() ?? {},
          closeStream: () => extra.closeSSEStream?.(),
          requireCapability: () => {
            throw new Error('The client has no model.');
          },
        });
        if (!result.ask) return result;
        ({ state } = result);
        for (const [key, question] of Object.entries(result.ask))
          answers[key] = await extra.sendRequest(question, Answer);
      }
    },
  };
}

async function useV2() {
  const mcp = await import('@modelcontextprotocol/server');
  const { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } =
    await import('@modelcontextprotocol/node');
  const codec = mcp.createRequestStateCodec({ key: Buffer.alloc(32, 7), ttlSeconds: 60 });
  const create = () => {
    const options = { ...optionsOf(), requestState: { verify: codec.verify } };
    const server = new mcp.Server({ name: 'sdk-v2', version: '1.0.0' }, options);
    for (const [method, handle] of Object.entries(handlersFor(server)))
      server.setRequestHandler(method, ({ params }, extra) => handle(params ?? {}, extra));
    tellOf(server);
    return server;
  };
  return {
    invalidParams: (message) => new mcp.ProtocolError(-32602, message),
    notFound: (uri) => new mcp.ResourceNotFoundError(uri),
    async serveStdio() {
      const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
      serveStdio(create);
    },
    async createHandler() {
      const modern = mcp.createMcpHandler(create, { legacy: 'reject' });
      notifiers.add({ tools: modern.notify.toolsChanged, prompts: modern.notify.promptsChanged });
      const handleModern = toNodeHandler(modern);
      const handleLegacy = sessions(create, NodeStreamableHTTPServerTransport);
      return async (request, response) => {
        const body = await bodyOf(request);
        const isLegacy = await mcp.isLegacyRequest(await toWebRequest(request, body), body);
        return (isLegacy ? handleLegacy : handleModern)(request, response, body);
      };
    },
    // This SDK hands questions to the client, and asks old clients by itself.
    async run(work, { server, extra }) {
      const { mcpReq, http } = extra;
      const declared = mcpReq.envelope?.[mcp.CLIENT_CAPABILITIES_META_KEY];
      const result = await work({
        ...voiceOf({ token: mcpReq._meta?.progressToken, notify: mcpReq.notify }),
        log: (level, data) => mcpReq.log(level, data),
        answers: mcpReq.inputResponses ?? {},
        state: mcpReq.requestState(),
        capabilities: declared ?? server.getClientCapabilities() ?? {},
        closeStream: () => http?.closeSSE?.(),
        requireCapability: (requiredCapabilities) => {
          throw new mcp.MissingRequiredClientCapabilityError({ requiredCapabilities });
        },
      });
      if (!result.ask) return result;
      const requestState = result.state && (await codec.mint(result.state, extra));
      return mcp.inputRequired({ inputRequests: result.ask, ...(requestState && { requestState }) });
    },
  };
}

function voiceOf({ token, notify }) {
  return {
    progress: async (progress, total) => {
      if (token === undefined) return;
      const params = { progressToken: token, progress, total };
      await notify({ method: 'notifications/progress', params });
    },
    log: (level, data) => notify({ method: 'notifications/message', params: { level, data } }),
  };
}

/** Keeps a server for each session, as the documentation of both SDKs shows. */
function sessions(create, Transport) {
  const known = new Map();
  return async (request, response, body) => {
    const id = request.headers['mcp-session-id'];
    const transport = known.get(id);
    if (transport) return transport.handleRequest(request, response, body);
    if (id !== undefined) return void response.writeHead(404).end();
    const fresh = new Transport({
      sessionIdGenerator: randomUUID,
      eventStore: createEvents(),
      retryInterval: 50,
      onsessioninitialized: (made) => known.set(made, fresh),
      onsessionclosed: (made) => known.delete(made),
    });
    await create().connect(fresh);
    await fresh.handleRequest(request, response, body);
  };
}

function createEvents() {
  const events = [];
  return {
    async storeEvent(stream, message) {
      return `${stream}/${events.push({ stream, message })}`;
    },
    async replayEventsAfter(last, { send }) {
      const [stream, place] = last.split('/');
      for (const [index, event] of events.entries())
        if (index >= Number(place) && event.stream === stream && Object.keys(event.message).length > 0)
          await send(`${stream}/${index + 1}`, event.message);
      return stream;
    },
  };
}

async function bodyOf(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  try {
    return JSON.parse(Buffer.concat(pieces).toString());
  } catch {
    return undefined;
  }
}

function serveHttp(handle) {
  const guards = [localhostHostValidation(), localhostOriginValidation()];
  const server = createServer((request, response) => {
    if (guards.every((isLocal) => isLocal(request, response))) void handle(request, response);
  });
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
  // The parent holds the other end: when it is gone, so is this process.
  process.stdin.on('end', () => process.exit()).resume();
}
