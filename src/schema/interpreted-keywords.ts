import { isObject } from '../base/json.ts';
import { JsonIndex } from '../base/json-index.ts';
import { linearPattern } from '../base/linear-pattern.ts';
import {
  addProblem,
  passAll,
  passesSilently,
  TooManyMisses,
  type Check,
  type Inside,
  type Maker,
  type Makers,
  type CheckRun,
} from './interpreter.ts';
import {
  additional,
  additionalInOutline,
  defaults,
  patternProperties,
  properties,
  propertyNames,
  required,
  requiredInOutline,
} from './interpreted-members.ts';
import type { Node } from './references.ts';

/** The parts that some keywords need. */
export interface Means {
  /** The check of a format, which passes values the format is not about; `undefined` if it is not known. */
  readonly formatOf: (name: string) => ((value: unknown) => boolean) | undefined;
  /** Which two items of a list are the same. */
  readonly repeatIn: (items: readonly unknown[]) => { readonly i: number; readonly j: number } | undefined;
}

/** Every keyword of the schemas that `isInterpretable` lets through; checks and words are those of the compiler. */
export function wholeMakers({ formatOf, repeatIn }: Means): Makers {
  return [
    ['$ref', reference],
    ['type', type],
    ['enum', choice],
    ['const', constant],
    ...numberLimits,
    ['multipleOf', limit(asNumber, isMultiple, (by) => `must be multiple of ${by}`)],
    ['minLength', limit(asText, (text, min) => lengthOf(text) >= min, fewer('characters'))],
    ['maxLength', limit(asText, (text, max) => lengthOf(text) <= max, more('characters'))],
    ['pattern', pattern],
    [
      'format',
      (name: string) => {
        const passes = formatOf(name);
        return passes && ((value, run) => passes(value) || addProblem(run, `must match format "${name}"`));
      },
    ],
    ['not', negation],
    ['allOf', allOf],
    ['anyOf', branches(1, 'must match a schema in anyOf')],
    ['oneOf', branches(2, 'must match exactly one schema in oneOf')],
    ['if', condition],
    ...listLimits,
    [
      'uniqueItems',
      (isAsked: boolean) => (value, run) => {
        const found = isAsked && Array.isArray(value) ? repeatIn(value) : undefined;
        return found
          ? addProblem(
              run,
              `must NOT have duplicate items (items ## ${found.j} and ${found.i} are identical)`,
            )
          : true;
      },
    ],
    ['prefixItems', firstItems],
    ['items', items],
    ['properties', defaults],
    ['minProperties', limit(asMembers, (keys, min) => keys.length >= min, fewer('properties'))],
    ['maxProperties', limit(asMembers, (keys, max) => keys.length <= max, more('properties'))],
    ['required', required],
    ['propertyNames', propertyNames],
    ['additionalProperties', additional],
    ['properties', properties],
    ['patternProperties', patternProperties],
  ];
}

// Keywords and pairs of keywords that only the compiler knows; which defaults in branches count is up to it, too.
const LEFT_OUT =
  /"(?:unevaluated(?:Properties|Items)|contains|dependent(?:Required|Schemas)|dependencies|nullable|\$(?:id|dynamicRef|recursiveRef|data|async))":/;
const BRANCHES = /"(?:anyOf|oneOf|not|if|\$ref)":/;

/** Whether a schema, given as text, means the same to `wholeMakers` as to the compiler. */
export function isInterpretable(text: string): boolean {
  return !LEFT_OUT.test(text) && !(text.includes('"default":') && BRANCHES.test(text));
}

/**
 * The keywords that mean the same in every library, for a schema that is an outline of another: what they refuse is
 * refused by the library, too.
 */
export function outlineMakers(): Makers {
  return [
    ['$ref', reference],
    ['type', type],
    ['enum', choice],
    ['const', constant],
    ...numberLimits,
    ['allOf', allOf],
    ['anyOf', branches(1, 'must match a schema in anyOf')],
    // More than one branch of an outline may match.
    ['oneOf', branches(1, 'must match exactly one schema in oneOf')],
    ...listLimits,
    ['prefixItems', firstItems],
    ['items', items],
    ['required', requiredInOutline],
    ['additionalProperties', additionalInOutline],
    ['properties', properties],
  ];
}

function reference(pointer: string, _node: Node, { checkOf, follow }: Inside): Check {
  return checkOf(follow(pointer));
}

function type(told: string | readonly string[]): Check {
  const types = [told].flat();
  const message = `must be of type ${types.join(' or ')}`;
  return (value, run) => types.some((each) => isOf(each, value)) || addProblem(run, message);
}

function isOf(name: string, value: unknown): boolean {
  switch (name) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'null':
      return value === null;
    case 'integer':
      return typeof value === 'number' && !(value % 1) && !Number.isNaN(value);
    default:
      return typeof value === name;
  }
}

function choice(choices: readonly unknown[]): Check {
  const isChoice = memberOf(choices);
  const message = `must be one of ${choices.map((each) => JSON.stringify(each)).join(', ')}`;
  return (value, run) => isChoice(value) || addProblem(run, message);
}

function constant(told: unknown): Check {
  const isSame = memberOf([told]);
  const message = `must be ${JSON.stringify(told)}`;
  return (value, run) => isSame(value) || addProblem(run, message);
}

function memberOf(choices: readonly unknown[]): (value: unknown) => boolean {
  if (!choices.some((each) => typeof each === 'object' && each !== null)) {
    const known = new Set(choices);
    return (value) => known.has(value);
  }
  // The choices come from the author, so indexing them uses no budget.
  const index = new JsonIndex({ steps: Infinity });
  for (const each of choices) index.add(each);
  return (value) => index.has(value);
}

type Read<T> = (value: unknown) => T | undefined;

// The check of values of one kind against a number; others pass.
function limit<T>(
  read: Read<T>,
  passes: (value: T, limit: number) => boolean,
  message: (limit: number) => string,
): Maker {
  return (told: number) => (value, run) => {
    const measured = read(value);
    return measured === undefined || passes(measured, told) || addProblem(run, message(told));
  };
}

const asNumber: Read<number> = (value) => (typeof value === 'number' ? value : undefined);
const asText: Read<string> = (value) => (typeof value === 'string' ? value : undefined);
const asItems: Read<readonly unknown[]> = (value) => (Array.isArray(value) ? value : undefined);
const asMembers: Read<string[]> = (value) => (isObject(value) ? Object.keys(value) : undefined);
const fewer = (what: string) => (min: number) => `must NOT have fewer than ${min} ${what}`;
const more = (what: string) => (max: number) => `must NOT have more than ${max} ${what}`;

const numberLimits: Makers = [
  [
    'minimum',
    limit(
      asNumber,
      (value, min) => value >= min,
      (min) => `must be >= ${min}`,
    ),
  ],
  [
    'maximum',
    limit(
      asNumber,
      (value, max) => value <= max,
      (max) => `must be <= ${max}`,
    ),
  ],
  [
    'exclusiveMinimum',
    limit(
      asNumber,
      (value, min) => value > min,
      (min) => `must be > ${min}`,
    ),
  ],
  [
    'exclusiveMaximum',
    limit(
      asNumber,
      (value, max) => value < max,
      (max) => `must be < ${max}`,
    ),
  ],
];

const listLimits: Makers = [
  ['minItems', limit(asItems, ({ length }, min) => length >= min, fewer('items'))],
  ['maxItems', limit(asItems, ({ length }, max) => length <= max, more('items'))],
];

// As the compiler writes it, so that both say the same of very large numbers.
function isMultiple(value: number, by: number): boolean {
  const times = value / by;
  return times === Number.parseInt(String(times), 10);
}

// Characters as JSON Schema counts them: a pair of surrogates is one.
function lengthOf(text: string): number {
  let length = text.length;
  for (let index = 1; index < text.length; index++) {
    const isPair =
      (text.charCodeAt(index) & 0xfc00) === 0xdc00 && (text.charCodeAt(index - 1) & 0xfc00) === 0xd800;
    if (isPair) length--;
  }
  return length;
}

function pattern(source: string): Check {
  const compiled = linearPattern(source);
  return (value, run) =>
    typeof value !== 'string' || compiled.test(value) || addProblem(run, `must match pattern "${source}"`);
}

function negation(told: unknown, _node: Node, { checkOf }: Inside): Check {
  const check = checkOf(told);
  return (value, run) => !passesSilently(check, value, run) || addProblem(run, 'must NOT be valid');
}

function allOf(nodes: readonly unknown[], _node: Node, { checkOf }: Inside): Check {
  const checks = nodes.map(checkOf);
  return (value, run) => passAll(checks, value, run);
}

// Branches are tried until so many have matched; one is to match.
function branches(stopAfter: number, message: string): Maker {
  return (nodes: readonly unknown[], _node: Node, { checkOf }: Inside) => {
    const checks = nodes.map(checkOf);
    return (value, run) => {
      let matched = 0;
      let tried = 0;
      while (tried < checks.length && matched < stopAfter)
        if (passesSilently(checks[tried++]!, value, run)) matched++;
        else if (--run.misses < 0) throw new TooManyMisses();
      if (matched === 1) return true;
      // Not in silence: each branch inside another one would double the work.
      if (run.isThorough && run.silence === 0) for (const check of checks.slice(0, tried)) check(value, run);
      return addProblem(run, message);
    };
  };
}

function condition(told: unknown, node: Node, { checkOf }: Inside): Check {
  const [check, positive, negative] = [told, node['then'] ?? true, node['else'] ?? true].map(checkOf);
  return (value, run) => (passesSilently(check!, value, run) ? positive! : negative!)(value, run);
}

function firstItems(nodes: readonly unknown[], _node: Node, { checkOf }: Inside): Check {
  const checks = nodes.map(checkOf);
  return (value, run) =>
    !Array.isArray(value) ||
    checkItems(value.slice(0, checks.length), run, { from: 0, checkAt: (index) => checks[index]! });
}

function items(told: unknown, { prefixItems }: Node, { checkOf }: Inside): Check {
  const from = Array.isArray(prefixItems) ? prefixItems.length : 0;
  if (told === false && from > 0)
    return (value, run) =>
      !Array.isArray(value) || value.length <= from || addProblem(run, more('items')(from));
  const check = checkOf(told);
  return (value, run) => !Array.isArray(value) || checkItems(value, run, { from, checkAt: () => check });
}

interface Where {
  readonly from: number;
  readonly checkAt: (index: number) => Check;
}

function checkItems(list: readonly unknown[], run: CheckRun, { from, checkAt }: Where): boolean {
  let passed = true;
  for (let index = from; index < list.length; index++) {
    run.path.push(index);
    const isGood = checkAt(index)(list[index], run);
    run.path.pop();
    if (isGood) continue;
    if (!run.isThorough) return false;
    passed = false;
  }
  return passed;
}
