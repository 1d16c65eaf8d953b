import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, onTestFinished } from 'vitest';
import { officialSchemas, type OfficialSchema } from '../official-schemas.ts';
import type { Json } from './peer.ts';
import type { Client, Wire } from './wires.ts';

type Message = Json & { readonly method?: string; readonly id?: unknown };

/** Holds everything a server sends on a wire against the official schema of its revision, in the long tests. */
export function withSchemaCheck(wire: Wire, client: Pick<Client, 'version'>): Wire {
  if (process.env['TOOLCRIB_SCHEMAS'] === undefined) return wire;
  const found: string[] = [];
  let { version } = client;
  const note = (about: Version, name: string, message: unknown): void => {
    found.push(...violations(about, name, message).map((one) => `${about} ${name}: ${one}`));
  };
  const hear = (message: Message): void => {
    const { jsonrpc: _version, id, ...inner } = message;
    const kind = id === undefined ? 'Notification' : 'Request';
    note(version, `JSONRPC${kind}`, message);
    // Up to 2025-06-18 the envelope is described apart.
    note(version, `Server${kind}`, version < '2025-11-25' ? inner : message);
  };
  // Before the wire itself is closed: later messages have no owner.
  onTestFinished(() => expect(found).toEqual([]));
  return {
    ...wire,
    async send(text, options = {}) {
      const answer = await wire.send(text, {
        ...options,
        onNotification: (message) => {
          hear(message);
          options.onNotification?.(message);
        },
      });
      for (const [request, response] of pairs(text, answer)) {
        const modern = claimOf(request);
        const result = response['result'] as Json | undefined;
        if (request.method === 'initialize' && result) version = String(result['protocolVersion']);
        const name = result && RESULTS[request.method ?? '']?.(result);
        // An id is the client's own, and what could not be read has none.
        if (!result) note(modern ?? version, 'error', { ...response, id: 1 });
        else if (name !== undefined) note(modern ?? version, name, result);
      }
      return answer;
    },
    ...(wire.follow && {
      follow: (onMessage) =>
        wire.follow!((message) => {
          hear(message);
          onMessage(message);
        }),
    }),
  };
}

type Version = string;

// Tasks are an extension, which the schema of the revision does not describe.
const RESULTS: Readonly<Record<string, (result: Json) => string | undefined>> = {
  initialize: () => 'InitializeResult',
  ping: () => 'EmptyResult',
  'logging/setLevel': () => 'EmptyResult',
  'resources/subscribe': () => 'EmptyResult',
  'resources/unsubscribe': () => 'EmptyResult',
  'server/discover': () => 'DiscoverResult',
  'subscriptions/listen': () => 'SubscriptionsListenResult',
  'tools/list': () => 'ListToolsResult',
  'tools/call': (result) => orAsking(result, 'CallToolResult'),
  'resources/list': () => 'ListResourcesResult',
  'resources/templates/list': () => 'ListResourceTemplatesResult',
  'resources/read': (result) => orAsking(result, 'ReadResourceResult'),
  'prompts/list': () => 'ListPromptsResult',
  'prompts/get': (result) => orAsking(result, 'GetPromptResult'),
  'completion/complete': () => 'CompleteResult',
};

function orAsking({ resultType }: Json, name: string): string | undefined {
  if (resultType === 'task') return undefined;
  return resultType === 'input_required' ? 'InputRequiredResult' : name;
}

function pairs(sent: string, answer: string | undefined): [Message, Message][] {
  if (answer === undefined) return [];
  const requests = listOf(parsed(sent));
  return listOf(parsed(answer)).map((response) => [
    requests.find(({ id }) => id === response.id) ?? requests[0] ?? {},
    response,
  ]);
}

function claimOf({ params }: Message): Version | undefined {
  const meta = (params as { _meta?: Json } | undefined)?._meta;
  return meta?.['io.modelcontextprotocol/protocolVersion'] === undefined ? undefined : '2026-07-28';
}

const validators = new Map<string, ValidateFunction>();

function violations(version: Version, name: string, message: unknown): string[] {
  const key = `${version} ${name}`;
  let validate = validators.get(key);
  if (!validate) validators.set(key, (validate = compile(version, name)));
  if (validate(message)) return [];
  const text = JSON.stringify(message).slice(0, 400);
  return validate.errors!.slice(0, 3).map((error) => `${error.instancePath} ${error.message} in ${text}`);
}

function compile(version: Version, name: string): ValidateFunction {
  const schema = officialSchemas().get(version)!;
  const isOld = schema.definitions !== undefined;
  const definitions = closed(schema);
  const ajv = new (isOld ? Ajv : Ajv2020)({ strict: false, allowUnionTypes: true });
  (addFormats as unknown as (to: Ajv | Ajv2020) => void)(ajv);
  const error = 'JSONRPCError' in definitions ? 'JSONRPCError' : 'JSONRPCErrorResponse';
  const place = isOld ? 'definitions' : '$defs';
  return ajv.compile({ [place]: definitions, $ref: `#/${place}/${name === 'error' ? error : name}` });
}

// What others may add to, by the schema's own words or because it holds what authors wrote.
const OPEN =
  /^(?:Result|EmptyResult|Request|Notification|JSONRPC\w*|\w*Capabilities|\w*MetaObject|\w*Schema|Error|ToolAnnotations)$/;
const OPEN_MEMBERS = new Set([
  '_meta',
  'inputSchema',
  'outputSchema',
  'structuredContent',
  'requestedSchema',
]);

/** The definitions with every object closed: a field that the revision does not have is a violation. */
function closed({ definitions, $defs }: OfficialSchema): Record<string, unknown> {
  const all = definitions ?? $defs!;
  return Object.fromEntries(
    Object.entries(all).map(([name, definition]) => {
      if (OPEN.test(name)) return [name, definition];
      // A tool may add fields of its own to its result.
      const open = name === 'CallToolResult' && { additionalProperties: true };
      return [name, { ...(close(definition) as object), ...open }];
    }),
  );
}

function close(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(close);
  if (typeof node !== 'object' || node === null) return node;
  const entries = Object.entries(node).map(([key, value]) => [
    key,
    key === 'properties' ? closeMembers(value as Json) : close(value),
  ]);
  const schema = Object.fromEntries(entries) as Record<string, unknown>;
  const isOpen = !('properties' in schema) || 'additionalProperties' in schema;
  return isOpen ? schema : { ...schema, additionalProperties: false };
}

function closeMembers(members: Json): Json {
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, OPEN_MEMBERS.has(name) ? member : close(member)]),
  );
}

function listOf(value: unknown): Message[] {
  return (Array.isArray(value) ? value : [value]) as Message[];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
