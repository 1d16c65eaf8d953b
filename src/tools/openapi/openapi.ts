import type { z } from 'zod';
import { checkSchema } from '../../schema/check.ts';
import { ToolcribError } from '../../base/errors.ts';
import { escapeUnseen } from '../../base/escape-unseen.ts';
import { compileGlob } from '../../base/glob.ts';
import type { JsonSchema, ObjectSchema } from '../../schema/schema.ts';
import { defineTool, type Tool, type ToolAnnotations } from '../../core/tool.ts';
import { createApiCall, type ApiCall } from './call.ts';
import { readOwnParts } from './credential.ts';
import { readDocument, asText, unusable } from './document.ts';
import { NameGiver } from './names.ts';
import {
  isRepeatable,
  operationPlacesIn,
  readOperation,
  type OpenApiOperation,
  type OperationPlace,
} from './operation.ts';
import { openApiOptions, type OpenApiSettings } from './options.ts';
import { OpenApiSchemas } from './schemas.ts';
import {
  checkOwnHeaders,
  createWay,
  findServers,
  ownServer,
  type ApiServer,
  type OpenApiParts,
} from './server.ts';
import { inputSchemaOf, outputSchemaOf, type AnswerShape } from './shapes.ts';
import { describeOperation, findUnseen } from './text.ts';

/** The tools of a description, and why some operations are missing. */
export interface OpenApiImport {
  readonly tools: readonly Tool[];
  /** One sentence each, for the operator. */
  readonly problems: readonly string[];
}

/** Makes tools from the operations of an OpenAPI 3 description that the options select. */
export function toolsFromOpenApi(
  document: object,
  options: z.input<typeof openApiOptions> = {},
  parts: OpenApiParts = {},
): readonly Tool[] {
  return importOpenApi(document, options, parts).tools;
}

/** The same, with the list of what had to be left out. */
export function importOpenApi(
  document: object,
  options: z.input<typeof openApiOptions> = {},
  parts: OpenApiParts = {},
): OpenApiImport {
  const settings = openApiOptions.parse(options, { jitless: true });
  const read = readDocument(document);
  const own = readOwnParts(settings);
  const servers = findServers(read, settings);
  checkOwnHeaders(servers, own.headers);
  const callApi = createApiCall(createWay(servers, settings, parts), { own, settings });
  const names = new NameGiver(settings.prefix);
  const input = new OpenApiSchemas(read, 'input');
  const output = new OpenApiSchemas(read, 'output');
  const tools: Tool[] = [];
  const problems: string[] = [];
  const chosen = chooser(settings);
  const leaveOut = (where: string, reason: string): void =>
    void problems.push(escapeUnseen(`${where} is left out: ${reason}.`));
  for (const place of operationPlacesIn(read, leaveOut)) {
    if (!chosen.has(place)) continue;
    try {
      const operation = readOperation(place, read, own.names);
      const server = ownServer(operation.server, servers);
      const name = names.give(operation.id, `${place.method.toLowerCase()} ${place.template}`);
      tools.push(toTool({ operation, name, server, api: read.title }, { input, output }, callApi));
    } catch (error) {
      if (!(error instanceof ToolcribError) || error.code !== 'invalid_tool') throw error;
      leaveOut(labelOf(place), error.message.replace(/\.$/, ''));
    }
  }
  chosen.complain();
  if (tools.length === 0)
    throw new ToolcribError(
      'invalid_setup',
      ['No operation can be offered.', ...problems.slice(0, 5)].join(' '),
    );
  for (const reference of new Set([...input.lost, ...output.lost]))
    problems.push(
      `The schema ${reference} is not in this document, and nothing else is read; anything is taken there.`,
    );
  return { tools, problems };
}

const MAX_SHOWN = 60;

interface Described {
  readonly operation: OpenApiOperation;
  readonly name: string;
  readonly server: ApiServer;
  readonly api: string;
}

interface Schemas {
  readonly input: OpenApiSchemas;
  readonly output: OpenApiSchemas;
}

function toTool({ operation, name, server, api }: Described, schemas: Schemas, callApi: ApiCall): Tool {
  const shape = usable(outputSchemaOf(operation, schemas.output));
  const input = usableInput(operation, schemas.input);
  requireSeen([operation.template, operation.parameters.map((one) => one.name), input, shape?.schema]);
  const definition = {
    name,
    description: describeOperation(operation, api),
    input,
    annotations: hintsOf(operation.method),
  };
  return defineTool<JsonSchema, JsonSchema>(
    shape ? { ...definition, output: shape.schema } : definition,
    (args, context) => callApi({ operation, server, shape }, args as Record<string, unknown>, context),
  );
}

// A model reads all of it, but the operator saw only the visible part.
function requireSeen(shown: unknown): void {
  const unseen = findUnseen(shown);
  if (unseen !== undefined)
    throw unusable(`"${unseen.slice(0, MAX_SHOWN)}" in it holds characters that cannot be seen`);
}

// A body whose schema exceeds the limits is passed unchecked: the API checks it itself.
function usableInput(operation: OpenApiOperation, schemas: OpenApiSchemas): ObjectSchema {
  const schema = inputSchemaOf(operation, schemas);
  try {
    checkSchema(schema, 'input');
    return schema;
  } catch (error) {
    if (!operation.body) throw error;
    return inputSchemaOf({ ...operation, body: { ...operation.body, schema: undefined } }, schemas);
  }
}

function usable(shape: AnswerShape | undefined): AnswerShape | undefined {
  if (!shape) return undefined;
  try {
    checkSchema(shape.schema, 'output');
    return shape;
  } catch {
    return undefined;
  }
}

// Only the method is known: a description does not say whether a POST only adds, so every method that may change
// something counts as destructive.
function hintsOf(method: string): ToolAnnotations {
  const isRead = method === 'GET' || method === 'HEAD';
  return {
    readOnlyHint: isRead,
    destructiveHint: !isRead,
    idempotentHint: isRepeatable(method),
    openWorldHint: true,
  };
}

interface Chooser {
  has(place: OperationPlace): boolean;
  /** Throws if a pattern matches nothing. */
  complain(): void;
}

function chooser({ operations, exclude }: OpenApiSettings): Chooser {
  const wanted = operations.map((pattern) => ({ pattern, fits: compileGlob(pattern), isUsed: false }));
  const unwanted = exclude.map((pattern) => ({ pattern, fits: compileGlob(pattern), isUsed: false }));
  const matches = (patterns: typeof wanted, place: OperationPlace): boolean => {
    const names = [asText(place.operation['operationId']), labelOf(place)];
    const fitting = patterns.filter(({ fits }) => names.some(fits));
    for (const pattern of fitting) pattern.isUsed = true;
    return fitting.length > 0;
  };
  return {
    has: (place) => {
      const isWanted = matches(wanted, place);
      return !matches(unwanted, place) && isWanted;
    },
    complain() {
      const unused = [...wanted, ...unwanted].find(({ isUsed }) => !isUsed);
      if (!unused) return;
      const text = `No operation fits "${unused.pattern}"; write an operation id, or a method and a path such as "GET /pets".`;
      throw new ToolcribError('invalid_setup', text);
    },
  };
}

function labelOf({ method, template }: OperationPlace): string {
  return `${method} ${template}`;
}
