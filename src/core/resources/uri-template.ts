import { ToolcribError } from '../../base/errors.ts';

const LIMITS = { templateLength: 2_048, variables: 32, uriLength: 8_192 };

/** A shape of URIs after RFC 6570, levels 1 to 3: makes a URI from values and reads the values back from one. */
export interface UriTemplate {
  /** The names in the order they appear. */
  readonly variables: readonly string[];
  /** The URI with every value in its place, encoded; a variable without a value is left out. */
  expand(values: Readonly<Record<string, string>>): string;
  /**
   * The same where values are still missing: what needs one stands there as it is written, and parameters are left out.
   */
  fill(values: Readonly<Record<string, string>>): string;
  /**
   * The decoded values of a URI of this shape; parameters (`{?x}`, `{&x}`, `{;x}`) may be missing or come in any order,
   * everything else must have a value. The client chooses them, so "../" is as possible as anything else.
   */
  match(uri: string): Record<string, string> | undefined;
}

/** Reads a template; throws `invalid_tool`, saying what to change, when it breaks the rules. */
export function parseUriTemplate(text: string): UriTemplate {
  const parts = parseParts(text);
  const variables = parts.flatMap((part) => (typeof part === 'string' ? [] : part.names));
  const repeated = variables.find((name, index) => variables.indexOf(name) !== index);
  if (repeated !== undefined) refuse(text, `names the variable "${repeated}" twice; give each its own name`);
  if (variables.length > LIMITS.variables)
    refuse(text, `has ${variables.length} variables; the limit is ${LIMITS.variables}`);

  const steps = toSteps(parts);
  const prefix = (typeof parts[0] === 'string' ? parts[0] : '').split('%', 1)[0]!;
  return Object.freeze({
    variables: Object.freeze(variables),
    expand: (values: Readonly<Record<string, string>>) =>
      parts.map((part) => (typeof part === 'string' ? part : expandExpression(part, values))).join(''),
    fill: (values: Readonly<Record<string, string>>) =>
      parts.map((part) => (typeof part === 'string' ? part : fillExpression(part, values))).join(''),
    match: (uri: string) => (uri.startsWith(prefix) ? matchSteps(steps, uri) : undefined),
  });
}

interface Operator {
  readonly first: string;
  readonly separator: string;
  /** Characters that end a value when they are not encoded. */
  readonly stops: string;
  /** The value may hold reserved characters as they are. */
  readonly keepsReserved?: true;
  /** Values are written `name=value`; an empty one is the name and this. */
  readonly afterEmptyName?: '' | '=';
}

interface Expression {
  /** As it is written, braces included. */
  readonly text: string;
  readonly operator: Operator;
  readonly names: readonly string[];
}

const VALUE_STOPS = '/?#,&;';
const OPERATORS: Readonly<Record<string, Operator>> = {
  '': { first: '', separator: ',', stops: VALUE_STOPS },
  '+': { first: '', separator: ',', stops: '', keepsReserved: true },
  '#': { first: '#', separator: ',', stops: '', keepsReserved: true },
  '.': { first: '.', separator: '.', stops: VALUE_STOPS },
  '/': { first: '/', separator: '/', stops: VALUE_STOPS },
  ';': { first: ';', separator: ';', stops: '/?#', afterEmptyName: '' },
  '?': { first: '?', separator: '&', stops: '#', afterEmptyName: '=' },
  '&': { first: '&', separator: '&', stops: '#', afterEmptyName: '=' },
};
const NAME = /^(?:\w|%[\dA-Fa-f]{2})+(?:\.(?:\w|%[\dA-Fa-f]{2})+)*$/;

function parseParts(text: string): (string | Expression)[] {
  if (typeof text !== 'string' || text === '')
    throw new ToolcribError('invalid_tool', 'A URI template must be text such as "note://{id}".');
  if (text.length > LIMITS.templateLength)
    refuse(text, `has ${text.length} characters; the limit is ${LIMITS.templateLength}`);
  const parts: (string | Expression)[] = [];
  for (let at = 0; at < text.length;) {
    const open = text.indexOf('{', at);
    const end = open === -1 ? text.length : open;
    if (end > at) parts.push(parseLiteral(text.slice(at, end), text));
    if (open === -1) break;
    const close = text.indexOf('}', open);
    if (close === -1) refuse(text, `opens a "{" that no "}" closes; add it after the variable's name`);
    parts.push(parseExpression(text.slice(open + 1, close), text));
    at = close + 1;
  }
  return parts;
}

function parseLiteral(literal: string, template: string): string {
  const stray = /[\s\p{Cc}"<>\\^`|}]/u.exec(literal)?.[0];
  if (stray === '}') refuse(template, 'has a "}" without a "{" before it; add one or write "%7D"');
  if (stray !== undefined)
    refuse(
      template,
      `holds ${JSON.stringify(stray)} outside of a variable; write it as "${encodeURIComponent(stray)}"`,
    );
  const encoded = normalize(literal);
  if (encoded === undefined)
    refuse(
      template,
      'holds a "%" that does not begin an encoded UTF-8 character; write "%25" for the sign itself',
    );
  return encoded;
}

function parseExpression(body: string, template: string): Expression {
  const sign = /^[^\w%]/.exec(body)?.[0] ?? '';
  const operator = Object.hasOwn(OPERATORS, sign) ? OPERATORS[sign] : undefined;
  if (!operator) refuse(template, `uses "{${sign}", which is no operator; use one of + # . / ; ? & or none`);
  const names = body.slice(sign.length).split(',');
  for (const name of names) {
    if (name.endsWith('*'))
      refuse(
        template,
        `uses the modifier "*" in "{${body}}"; lists are not supported, so name each variable`,
      );
    if (name.includes(':'))
      refuse(
        template,
        `uses the modifier ":" in "{${body}}"; prefixes are not supported, so take the whole value`,
      );
    if (!NAME.test(name))
      refuse(
        template,
        `has no usable variable name in "{${body}}"; use letters, digits, "_" and single dots`,
      );
  }
  return { text: `{${body}}`, operator, names };
}

function refuse(template: string, problem: string): never {
  throw new ToolcribError(
    'invalid_tool',
    `The URI template ${JSON.stringify(template.slice(0, 120))} ${problem}.`,
  );
}

function expandExpression({ operator, names }: Expression, values: Readonly<Record<string, string>>): string {
  const encode = operator.keepsReserved ? encodeKeepingReserved : encodeAll;
  const written = names.flatMap((name) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) return [];
    if (operator.afterEmptyName === undefined) return [encode(value)];
    return [value === '' ? name + operator.afterEmptyName : `${name}=${encode(value)}`];
  });
  return written.length === 0 ? '' : operator.first + written.join(operator.separator);
}

function fillExpression(expression: Expression, values: Readonly<Record<string, string>>): string {
  const { text, operator, names } = expression;
  const isGiven = (name: string): boolean => Object.hasOwn(values, name);
  if (operator.afterEmptyName !== undefined || names.every(isGiven))
    return expandExpression(expression, values);
  if (!names.some(isGiven)) return text;
  const encode = operator.keepsReserved ? encodeKeepingReserved : encodeAll;
  return (
    operator.first +
    names.map((name) => (isGiven(name) ? encode(values[name]!) : `{${name}}`)).join(operator.separator)
  );
}

function encodeAll(value: string): string {
  return encodeURIComponent(value).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function encodeKeepingReserved(value: string): string {
  return value.replaceAll(/%[\dA-Fa-f]{2}|[^\w\-.~:/?#[\]@!$&'()*+,;=]/gu, (unit) =>
    unit.startsWith('%') && unit.length === 3 ? unit : encodeURIComponent(unit),
  );
}

type Step =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'value'; readonly name: string; readonly stops: string }
  | ({ readonly kind: 'parameters'; readonly names: readonly string[] } & Omit<Operator, 'afterEmptyName'>);

function toSteps(parts: readonly (string | Expression)[]): Step[] {
  const steps: Step[] = [];
  for (const part of parts) {
    if (typeof part === 'string') {
      steps.push({ kind: 'literal', text: part });
      continue;
    }
    const { operator, names } = part;
    const { first, separator, stops } = operator;
    if (operator.afterEmptyName !== undefined) {
      const before = steps.at(-1);
      // {?x}{&y} is one run of parameters, whichever of them are there.
      const joins = before?.kind === 'parameters' && before.separator === first;
      if (joins) steps[steps.length - 1] = { ...before, names: [...before.names, ...names] };
      else steps.push({ kind: 'parameters', names, first, separator, stops });
      continue;
    }
    for (const [index, name] of names.entries()) {
      const text = index === 0 ? first : separator;
      if (text !== '') steps.push({ kind: 'literal', text });
      steps.push({ kind: 'value', name, stops });
    }
  }
  return steps;
}

// Which steps can finish from which position is worked out from the end, one pass a step; reading then never has to
// go back, so the cost is the length of the URI times that of the template, whatever either holds.
function matchSteps(steps: readonly Step[], uri: string): Record<string, string> | undefined {
  if (uri.length > LIMITS.uriLength) return undefined;
  const text = normalize(uri);
  if (text === undefined || text.length > LIMITS.uriLength) return undefined;
  const rows: Uint8Array[] = [new Uint8Array(text.length + 1).fill(1, text.length)];
  for (const step of steps.toReversed()) rows.unshift(startsOf(step, text, rows[0]!));
  return rows[0]![0] === 1 ? readValues(steps, text, rows) : undefined;
}

/** Marks the positions where the step may start, given those where the next one may. */
function startsOf(step: Step, text: string, next: Uint8Array): Uint8Array {
  const starts = new Uint8Array(next.length);
  if (step.kind === 'literal') {
    for (let at = text.length - step.text.length; at >= 0; at--)
      if (next[at + step.text.length] === 1 && text.startsWith(step.text, at)) starts[at] = 1;
    return starts;
  }
  const run = next.slice();
  if (step.kind === 'parameters') starts[text.length] = next[text.length]!;
  for (let at = text.length - 1; at >= 0; at--) {
    const goesOn = !step.stops.includes(text[at]!) && run[at + unitAt(text, at)] === 1;
    if (goesOn) run[at] = 1;
    if (step.kind === 'value') starts[at] = goesOn ? 1 : 0;
    else starts[at] = next[at] === 1 || (text[at] === step.first && run[at + 1] === 1) ? 1 : 0;
  }
  return starts;
}

function readValues(
  steps: readonly Step[],
  text: string,
  rows: readonly Uint8Array[],
): Record<string, string> | undefined {
  const values: [string, string][] = [];
  let at = 0;
  for (const [index, step] of steps.entries()) {
    const next = rows[index + 1]!;
    if (step.kind === 'literal') {
      at += step.text.length;
      continue;
    }
    if (step.kind === 'value') {
      const start = at;
      do at += unitAt(text, at);
      while (next[at] === 0);
      values.push([step.name, decodeURIComponent(text.slice(start, at))]);
      continue;
    }
    const end = endOfParameters(step, text.slice(at), next.subarray(at));
    const found = end === 0 ? [] : readParameters(step, text.slice(at + 1, at + end));
    if (!found) return undefined;
    values.push(...found);
    at += end;
  }
  // Not an assignment: a variable may be called "__proto__".
  return Object.fromEntries(values);
}

type Parameters = Extract<Step, { kind: 'parameters' }>;

function endOfParameters(step: Parameters, text: string, next: Uint8Array): number {
  let end = 0;
  if (text[0] !== step.first) return end;
  for (let at = 1; at <= text.length; at += unitAt(text, at)) {
    if (next[at] === 1) end = at;
    if (at < text.length && step.stops.includes(text[at]!)) break;
  }
  return end;
}

function readParameters(step: Parameters, text: string): [string, string][] | undefined {
  const found = new Map<string, string>();
  for (const item of text.split(step.separator)) {
    const [name = ''] = item.split('=', 1);
    if (!step.names.includes(name) || found.has(name)) return undefined;
    found.set(name, decodeURIComponent(item.slice(name.length + 1)));
  }
  return [...found];
}

// A character is never split: its encoded bytes are one unit, as the first of them says.
function unitAt(text: string, at: number): number {
  if (text[at] !== '%') return 1;
  switch (text[at + 1]) {
    case 'C':
    case 'D':
      return 6;
    case 'E':
      return 9;
    case 'F':
      return 12;
    default:
      return 3;
  }
}

// One spelling for what means the same; undefined when an escape is malformed.
function normalize(text: string): string | undefined {
  try {
    const ascii = text.replaceAll(/[\u0080-\uffff]+/g, (run) => encodeURIComponent(run));
    decodeURIComponent(ascii);
    return ascii.replaceAll(/%[\dA-Fa-f]{2}/g, (escape) => escape.toUpperCase());
  } catch {
    return undefined;
  }
}
