import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Question } from '../../core/question.ts';
import type { JsonSchema } from '../../schema/schema.ts';
import type { JsonObject } from '../wire/json-rpc.ts';
import type { Features } from '../revisions/revision.ts';

/** A question as a request to the client; `undefined` if the revision has no such request. */
export function encodeQuestion(
  question: Question,
  { elicitation }: Features,
): { method: string; params?: JsonObject } | undefined {
  switch (question.kind) {
    case 'form': {
      if (elicitation === 'none') return undefined;
      const params = { message: question.message, requestedSchema: encodeForm(question.schema, elicitation) };
      return {
        method: 'elicitation/create',
        params: { ...question.extra, ...(elicitation === 'modes' && { mode: 'form' }), ...params },
      };
    }
    case 'url':
      if (elicitation !== 'modes') return undefined;
      return {
        method: 'elicitation/create',
        params: { ...question.extra, mode: 'url', message: question.message, url: question.url },
      };
    case 'sample':
      return { method: 'sampling/createMessage', params: question.params };
    case 'roots':
      return { method: 'roots/list', ...(question.extra && { params: question.extra }) };
  }
}

type Style = Exclude<Features['elicitation'], 'none'>;

// Keywords left out here are still checked when the answer arrives.
function encodeForm(schema: JsonSchema, style: Style): JsonObject {
  const fields = Object.entries(schema['properties'] as JsonObject).map(([name, field]) => [
    name,
    isObject(field) ? encodeField(field, style) : field,
  ]);
  return { ...schema, properties: Object.fromEntries(fields) as JsonObject };
}

const FORMATS: ReadonlySet<unknown> = new Set(['email', 'uri', 'date', 'date-time']);

function encodeField(field: JsonObject, style: Style): JsonObject {
  const { format, default: preset, ...plain } = field;
  const shown = {
    ...withType(plain),
    ...(format !== undefined && FORMATS.has(format) && { format }),
    ...(preset !== undefined && { default: preset }),
  };
  return style === 'modes' ? shown : encodeOldField(shown);
}

// Every revision requires the type, even if the choices imply it.
function withType(field: JsonObject): JsonObject {
  const { items } = field;
  if (isObject(items) && 'enum' in items) return { ...field, items: { type: 'string', ...items } };
  return 'enum' in field || 'oneOf' in field ? { type: 'string', ...field } : field;
}

// The first revision with forms has single choice only, names its choices in `enumNames`, and has defaults for
// booleans only.
function encodeOldField(field: JsonObject): JsonObject {
  if (field['type'] === 'array') {
    throw new ToolcribError(
      'cannot_ask',
      'This lets the user choose several of a list, which needs a client of protocol version 2025-11-25 or later.',
    );
  }
  if (field['type'] === 'boolean') return field;
  const { default: _preset, oneOf, ...plain } = field;
  if (!Array.isArray(oneOf)) return plain;
  const choices = oneOf as readonly { readonly const?: unknown; readonly title?: unknown }[];
  return {
    ...plain,
    enum: choices.map((choice) => choice.const),
    enumNames: choices.map((choice) => choice.title ?? choice.const),
  };
}
