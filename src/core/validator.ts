import { Ajv2020, type ErrorObject, type Format, type ValidateFunction } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { RE2JS } from 're2js';
import type { Issue, JsonSchema, Outcome } from './schema.ts';

// The library's format patterns are not all linear, so long text fails its format unread.
const MAX_FORMATTED_LENGTH = 4_096;

const MAX_ISSUES = 8;

/** The check of a JSON Schema: compiled on first use and kept as long as the schema object itself. */
export function validatorOf(schema: JsonSchema): (value: unknown) => Outcome {
  const known = validators.get(schema);
  if (known) return known;
  const validator = compile(schema);
  validators.set(schema, validator);
  return validator;
}

/** Puts issues into one sentence a model can act on: which field, which rule. */
export function describeIssues(issues: readonly Issue[]): string {
  const shown = issues.slice(0, MAX_ISSUES).map((issue) => {
    const path = pathOf(issue);
    return path ? `${path}: ${issue.message}` : issue.message;
  });
  if (issues.length > MAX_ISSUES) shown.push(`and ${issues.length - MAX_ISSUES} more`);
  return shown.join('; ');
}

const validators = new WeakMap<JsonSchema, (value: unknown) => Outcome>();
let shared: Ajv2020 | undefined;

function compile(schema: JsonSchema): (value: unknown) => Outcome {
  shared ??= createAjv();
  const validate: ValidateFunction = shared.compile(schema);
  // The instance would otherwise hold every schema it ever saw.
  shared.removeSchema(schema);
  return (value) =>
    validate(value) ? { value } : { issues: (validate.errors ?? []).filter(isOwnComplaint).map(toIssue) };
}

function createAjv(): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    useDefaults: true,
    ownProperties: true,
    validateSchema: false,
    meta: false,
    logger: false,
    code: { regExp: Object.assign(linearRegExp, { code: 'linearRegExp' }) },
  });
  for (const [name, format] of Object.entries(fullFormats)) ajv.addFormat(name, bounded(format));
  return ajv;
}

function linearRegExp(pattern: string): { test(text: string): boolean } {
  return RE2JS.compile(RE2JS.translateRegExp(pattern));
}

function bounded(format: Format): Format {
  if (typeof format !== 'object' && typeof format !== 'function') return format;
  if ('type' in format && format.type === 'number') return format;
  const check = format instanceof RegExp ? format : typeof format === 'function' ? format : format.validate;
  const passes =
    check instanceof RegExp ? (text: string) => check.test(text) : (check as (text: string) => boolean);
  return { type: 'string', validate: (text: string) => text.length <= MAX_FORMATTED_LENGTH && passes(text) };
}

// "must match then schema" only repeats what the errors inside it already say.
function isOwnComplaint(error: ErrorObject): boolean {
  return error.keyword !== 'if';
}

function toIssue(error: ErrorObject): Issue {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const params = error.params as Record<string, unknown>;
  switch (error.keyword) {
    case 'required':
      return { path: [...path, String(params['missingProperty'])], message: 'is required' };
    case 'additionalProperties':
      return { path: [...path, String(params['additionalProperty'])], message: 'is not a known field' };
    case 'unevaluatedProperties':
      return { path: [...path, String(params['unevaluatedProperty'])], message: 'is not a known field' };
    case 'enum':
      return {
        path,
        message: `must be one of ${(params['allowedValues'] as unknown[]).map((value) => JSON.stringify(value)).join(', ')}`,
      };
    case 'const':
      return { path, message: `must be ${JSON.stringify(params['allowedValue'])}` };
    case 'type':
      return { path, message: `must be of type ${String(params['type']).replaceAll(',', ' or ')}` };
    default:
      return { path, message: error.message ?? `breaks the rule "${error.keyword}"` };
  }
}

function pathOf(issue: Issue): string {
  let text = '';
  for (const part of issue.path ?? []) {
    const key = typeof part === 'object' ? part.key : part;
    const isIndex = typeof key === 'number' || /^\d+$/.test(String(key));
    text += isIndex ? `[${String(key)}]` : `${text ? '.' : ''}${String(key)}`;
  }
  return text;
}
