import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type * as AjvModule from 'ajv/dist/2020.js';
import type { Ajv2020, ErrorObject, Format, ValidateFunction } from 'ajv/dist/2020.js';
import type * as FormatsModule from 'ajv-formats/dist/formats.js';
import { linearPattern } from '../base/linear-pattern.ts';
import { isInterpretable, wholeMakers } from './interpreted-keywords.ts';
import { beginRun, interpret } from './interpreter.ts';
import { checkInLinearTime, leaveNoComplaints, repeatIn } from './linear-keywords.ts';
import { areHarmless, isCostly, nestingCosts, type Costs } from './nesting-costs.ts';
import { copierOf } from './copy-for-defaults.ts';
import { overgrowthIn } from './defaults-growth.ts';
import type { Issue, JsonSchema, Outcome } from './schema.ts';

// Not all of the library's format patterns are linear, so long text fails its format unread.
const MAX_FORMATTED_LENGTH = 4_096;

const MAX_ISSUES = 8;

// Finding all problems takes quadratic time, so for large values only the first is reported.
const MAX_EXPLAINED = 20_000;

/** The check of a JSON Schema: compiled on first use and kept as long as the schema object. */
export function validatorOf(schema: JsonSchema): (value: unknown) => Outcome {
  const known = validators.get(schema);
  if (known) return known;
  const check = compile(schema);
  // Defaults are written into the checked value, and the sender's own value must not change.
  const copy = copierOf(schema);
  const isOvergrown = copy && overgrowthIn(schema);
  const validator = copy
    ? (value: unknown) => (isOvergrown?.(value) ? { issues: [OVERGROWN] } : check(copy(value)))
    : check;
  validators.set(schema, validator);
  return validator;
}

/** Writes issues as one sentence a model can act on: which field, which rule. */
export function describeIssues(issues: readonly Issue[]): string {
  const shown = issues.slice(0, MAX_ISSUES).map((issue) => {
    const path = pathOf(issue);
    return path ? `${path}: ${issue.message}` : issue.message;
  });
  if (issues.length > MAX_ISSUES) shown.push(`and ${issues.length - MAX_ISSUES} more`);
  return shown.join('; ');
}

const OVERGROWN: Issue = { message: 'becomes too much with the defaults of this schema' };
const validators = new WeakMap<JsonSchema, (value: unknown) => Outcome>();
const libraries: Partial<Record<`${Thoroughness} ${Size}`, Ajv2020>> = {};
// How many comparisons between parts of a value one check may make.
const MAX_COMPARED = 500_000;
const comparing = { steps: MAX_COMPARED };

type Thoroughness = 'first' | 'all';
type Size = 'small' | 'large';

// Everybody waits while a check is compiled, and making its code shorter takes ever longer with its length.
const LARGE_SCHEMA = 8_192;

function compile(schema: JsonSchema): (value: unknown) => Outcome {
  const costs = nestingCosts(schema);
  const text = JSON.stringify(schema);
  const size = text.length > LARGE_SCHEMA ? 'large' : 'small';
  const find = size === 'large' && isInterpretable(text) ? interpreted(schema) : compiled(schema, size);
  const check = (value: unknown): Outcome => {
    comparing.steps = MAX_COMPARED;
    try {
      const first = find(value, 'first');
      if (first.length === 0) return { value };
      if (isCostly(value, costs, MAX_EXPLAINED)) return { issues: first };
      comparing.steps = MAX_COMPARED;
      return { issues: find(value, 'all') };
    } catch {
      // The library throws for some values if unevaluatedProperties is nested; such a value is refused.
      return { issues: [{ message: 'cannot be checked against this schema' }] };
    }
  };
  return areHarmless(costs) ? check : bound(check, costs);
}

type Find = (value: unknown, problems: Thoroughness) => readonly Issue[];

function compiled(schema: JsonSchema, size: Size): Find {
  const checks = {
    first: compileFor({ problems: 'first', size }, schema),
    all: undefined as ValidateFunction | undefined,
  };
  return (value, problems) => {
    const check = (checks[problems] ??= compileFor({ problems, size }, schema));
    return check(value) ? NONE : issuesOf(check);
  };
}

function interpreted(schema: JsonSchema): Find {
  const check = interpret(schema, wholeMakers({ formatOf, repeatIn: (items) => repeatIn(items, comparing) }));
  return (value, problems) => {
    const run = beginRun(problems === 'all');
    return check(value, run) ? NONE : run.issues;
  };
}

const NONE: readonly Issue[] = [];

function bound(check: (value: unknown) => Outcome, costs: Costs): (value: unknown) => Outcome {
  const levels = costs.steps.length - 1;
  const message =
    costs.beyond === 1
      ? 'holds more than can be checked against this schema; send it in parts'
      : `is nested deeper than the ${levels} levels this schema can be checked to, or holds too much on them`;
  return (value) => (isCostly(value, costs) ? { issues: [{ message }] } : check(value));
}

function compileFor(
  { problems, size }: { problems: Thoroughness; size: Size },
  schema: JsonSchema,
): ValidateFunction {
  const library = (libraries[`${problems} ${size}`] ??= createAjv(problems, size));
  const validate: ValidateFunction = library.compile(schema);
  // Otherwise the instance would keep every schema it ever compiled.
  library.removeSchema(schema);
  return validate;
}

function issuesOf({ errors }: ValidateFunction): Issue[] {
  return (errors ?? []).filter(isOwnComplaint).map(toIssue);
}

// Loaded with the first check: it takes as long to load as the rest of a small server.
function createAjv(problems: Thoroughness, size: Size): Ajv2020 {
  const { Ajv2020: Library, _: write, fullFormats } = loadLibrary();
  const ajv = new Library({
    strict: false,
    allErrors: problems === 'all',
    useDefaults: true,
    ownProperties: true,
    validateSchema: false,
    meta: false,
    logger: false,
    code: {
      optimize: size === 'small',
      regExp: Object.assign((source: string) => linearPattern(source), { code: 'linearPattern' }),
    },
  });
  for (const [name, format] of Object.entries(fullFormats)) ajv.addFormat(name, bounded(format));
  checkInLinearTime(ajv, write, comparing);
  if (problems === 'first') leaveNoComplaints(ajv);
  return ajv;
}

function formatOf(name: string): ((value: unknown) => boolean) | undefined {
  const formats: Readonly<Record<string, Format>> = loadLibrary().fullFormats;
  const format = Object.hasOwn(formats, name) ? bounded(formats[name]!) : undefined;
  if (typeof format !== 'object' || !('validate' in format)) return undefined;
  const passes = format.validate as (value: unknown) => boolean;
  return (value) => typeof value !== format.type || passes(value);
}

function bounded(format: Format): Format {
  if (typeof format !== 'object' && typeof format !== 'function') return format;
  if ('type' in format && format.type === 'number') return format;
  const check = format instanceof RegExp ? format : typeof format === 'function' ? format : format.validate;
  const passes =
    check instanceof RegExp ? (text: string) => check.test(text) : (check as (text: string) => boolean);
  return { type: 'string', validate: (text: string) => text.length <= MAX_FORMATTED_LENGTH && passes(text) };
}

// "must match then schema" only repeats the errors inside it, and branches may report empty ones.
function isOwnComplaint(error: Partial<ErrorObject>): boolean {
  return error.keyword !== undefined && error.keyword !== 'if';
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

type Library = Pick<typeof AjvModule, 'Ajv2020' | '_'> & Pick<typeof FormatsModule, 'fullFormats'>;

// The bundle has it as one file, which loads twice as fast as its seventy.
function loadLibrary(): Library {
  const require = createRequire(import.meta.url);
  const bundled = new URL('./ajv.cjs', import.meta.url);
  if (existsSync(bundled)) return require(fileURLToPath(bundled)) as Library;
  const { Ajv2020: library, _ } = require('ajv/dist/2020.js') as typeof AjvModule;
  const { fullFormats } = require('ajv-formats/dist/formats.js') as typeof FormatsModule;
  return { Ajv2020: library, _, fullFormats };
}
