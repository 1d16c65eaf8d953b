import type { z } from 'zod';
import { keysAt, nearest, placesOfKey } from './schema-keys.ts';
import type { Path } from './yaml-text.ts';

type Issue = z.core.$ZodIssue;

/** A problem at a path, in words, without any given value. */
export interface IssueFinding {
  readonly path: Path;
  readonly message: string;
  readonly remedy?: string;
  /** The key is wrong, not its value. */
  readonly isKey?: boolean;
  /** The right type, if only the type is wrong. */
  readonly expected?: string;
  /** Whether the words are from the author of the check, and may contain the value. */
  readonly isQuoted?: boolean;
}

/** Turns a validation issue into findings: one for each wrong setting. */
export function describeIssue(issue: Issue, schema: z.core.$ZodType, value: unknown): IssueFinding[] {
  const { path } = issue;
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownKey(key, path, schema));
    case 'invalid_union':
      return describeUnion(issue, schema, value);
    case 'invalid_type':
      return [wrongType(path, [issue.expected], valueAt(value, path))];
    case 'invalid_value':
      return [{ path, message: `must be ${anyOf(issue.values.map((one) => JSON.stringify(one)))}` }];
    case 'too_small':
      return [{ path, message: `must ${amount(issue, issue.minimum, ['at least', 'more than'])}` }];
    case 'too_big':
      return [{ path, message: `must ${amount(issue, issue.maximum, ['at most', 'less than'])}` }];
    case 'not_multiple_of':
      return [{ path, message: `must be a multiple of ${issue.divisor}` }];
    case 'invalid_key':
      return [{ path, message: 'is not a key here', isKey: true, ...nameRule(issue.issues[0]?.message) }];
    case 'invalid_element':
    case 'invalid_format':
    case 'custom':
      return [{ path, message: authored(issue.message), isQuoted: true }];
  }
}

/** The value at a path inside another. */
export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (at as Record<PropertyKey, unknown> | null | undefined)?.[key],
    value,
  );
}

function nameRule(message = ''): { readonly remedy?: string } {
  return message.startsWith('must ') ? { remedy: `its name ${message}` } : {};
}

function unknownKey(key: string, path: Path, schema: z.core.$ZodType): IssueFinding {
  const known = keysAt(schema, path);
  // Another kind of the same setting has it.
  if (known.includes(key)) return { path: [...path, key], ...NOT_TOGETHER, isKey: true };
  const meant = nearest(key, known);
  // A key of a section that stands at the top is found again; deeper down it would be a coincidence.
  const elsewhere = path.length === 0 ? placesOfKey(schema, key) : [];
  const remedy =
    meant !== undefined
      ? `did you mean "${meant}"?`
      : elsewhere.length === 1
        ? `did you mean ${elsewhere[0]}?`
        : known.length > 0
          ? `the keys here are ${known.join(', ')}`
          : 'leave it out';
  return { path: [...path, key], message: 'is not a key here', remedy, isKey: true };
}

const NOT_TOGETHER = {
  message: 'cannot stand beside the other keys here',
  remedy: 'leave it out, or leave them out',
};

// A value with the right shape for one of the options is described as that option.
function describeUnion(
  issue: Extract<Issue, { code: 'invalid_union' }>,
  schema: z.core.$ZodType,
  value: unknown,
): IssueFinding[] {
  const { path } = issue;
  const fitting = issue.errors.filter((issues) => !issues.some(isOfAnotherKind));
  const missing = fitting.map((issues) => onlyMissing(issues, valueAt(value, path)));
  if (missing.length > 1 && missing.every((key) => key !== undefined))
    return [{ path, message: `needs ${[...new Set(missing)].join(' or ')}` }];
  const [closest] = fitting.toSorted((a, b) => wrongIn(a) - wrongIn(b));
  if (closest)
    return closest.flatMap((inner) =>
      describeIssue({ ...inner, path: [...path, ...inner.path] }, schema, value),
    );
  const kinds = issue.errors.flatMap(([first]) => {
    if (first?.code === 'invalid_type') return [first.expected];
    return first?.code === 'invalid_value' ? first.values.map((one) => JSON.stringify(one)) : [];
  });
  if (kinds.length > 0) return [wrongType(path, kinds, valueAt(value, path))];
  const inner = issue.errors.flat()[0];
  if (!inner) return [{ path, message: 'is not accepted here' }];
  return describeIssue({ ...inner, path: [...path, ...inner.path] }, schema, value);
}

// The key that is all that keeps a value from being of this kind.
function onlyMissing([first, ...others]: readonly Issue[], value: unknown): string | undefined {
  if (first?.code !== 'invalid_type' || first.path.length !== 1 || others.length > 0) return undefined;
  return valueAt(value, first.path) === undefined ? String(first.path[0]) : undefined;
}

function wrongIn(issues: readonly Issue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);
}

function isOfAnotherKind({ code, path }: Issue): boolean {
  return path.length === 0 && (code === 'invalid_type' || code === 'invalid_value');
}

function wrongType(path: Path, expected: readonly string[], given: unknown): IssueFinding {
  const wanted = anyOf(expected.map((type) => NAMES[type] ?? type));
  if (given === undefined) return { path, message: 'is missing', remedy: `it must be ${wanted}` };
  if (given === null)
    return { path, message: 'has no value', remedy: `leave it out, or make it ${wanted}`, isKey: true };
  const message = `must be ${wanted}, not ${kindOf(given)}`;
  return { path, message, ...(expected.length === 1 && { expected: expected[0]! }) };
}

const NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a group of keys',
  record: 'a group of keys',
};

function kindOf(given: unknown): string {
  if (typeof given === 'boolean') return String(given);
  if (Number.isNaN(given)) return '.nan';
  if (given === Infinity || given === -Infinity) return given > 0 ? '.inf' : '-.inf';
  return NAMES[Array.isArray(given) ? 'array' : typeof given] ?? 'this';
}

function amount(
  { origin, inclusive = true }: { readonly origin: string; readonly inclusive?: boolean | undefined },
  limit: number | bigint,
  [including, beyond]: readonly [string, string],
): string {
  const much = `${inclusive ? including : beyond} ${limit}`;
  if (origin === 'string') return `have ${much} ${Number(limit) === 1 ? 'character' : 'characters'}`;
  if (origin === 'array' || origin === 'set')
    return `have ${much} ${Number(limit) === 1 ? 'entry' : 'entries'}`;
  return `be ${much}`;
}

function anyOf(words: readonly string[]): string {
  const all = [...new Set(words)];
  return all.length > 1 ? `${all.slice(0, -1).join(', ')} or ${all.at(-1)}` : (all[0] ?? 'something else');
}

// The default text of a check does not help.
function authored(message: string): string {
  return /^Invalid\b/.test(message) ? 'does not have the right form' : message;
}
