import { z } from 'zod';
import type { Call, Reading, ToolCall } from '../../core/call.ts';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { mirrorsOf } from '../../schema/mirrors.ts';
import type { JsonSchema } from '../../schema/schema.ts';
import type { Next, Stage } from '../../core/stage.ts';
import { describeIssues } from '../../schema/validator.ts';
import { cleanText } from '../../observe/clean-text.ts';
import { coerceScalar, memberSchema, resolveSchema } from './coerce.ts';

/** The options of the `sanitizeInput` stage. */
export const sanitizeInputOptions = z.strictObject({
  maxStringLength: z
    .int()
    .min(1)
    .default(1_000_000)
    .describe('Longest text an argument may hold, in characters.'),
  maxDepth: z
    .int()
    .min(1)
    .max(500)
    .default(32)
    .describe('How many objects and lists may be nested, the arguments themselves included.'),
  coerce: z
    .boolean()
    .default(false)
    .describe(
      'Turns "5" into 5, "true" into true and 5 into "5" where the schema asks for it and nothing is lost.',
    ),
  dropUnknown: z
    .boolean()
    .default(false)
    .describe('Drops fields the schema forbids, instead of refusing the call.'),
});

type Settings = z.output<typeof sanitizeInputOptions>;

/**
 * Removes control characters and lone surrogates from arguments, refuses them in keys, and applies limits, before any
 * other stage reads the arguments.
 */
export function sanitizeInput(options: z.input<typeof sanitizeInputOptions> = {}): Stage {
  const settings = sanitizeInputOptions.parse(options, { jitless: true });
  return {
    name: 'sanitizeInput',
    wrap(tool, next) {
      const schema = settings.coerce || settings.dropUnknown ? tool.inputSchema : undefined;
      const tidy = new Tidier(
        settings,
        (issue) => refuse(`Invalid arguments for ${tool.name}: ${issue}`),
        schema,
      );
      return (call) => {
        const args = tidy.arguments(call.arguments);
        if (args === call.arguments) return next(call);
        // A proxy has seen the header with the original value, so a mirrored argument must not be changed.
        for (const { path } of mirrorsOf(tool.inputSchema))
          if (textAt(args, path) !== textAt(call.arguments, path)) tidy.refuse(path, CHANGED_MIRROR);
        return next(withArguments(call, args));
      };
    },
    wrapReading: (next) => aroundReadings(settings, next),
  };
}

function aroundReadings(settings: Settings, next: Next<Reading>): Next<Reading> {
  const tidy = new Tidier(settings, (issue) => {
    throw new ToolcribError('invalid_params', `Invalid arguments: ${issue}`);
  });
  return (call) => {
    if (call.kind === 'prompt') return next(withArguments(call, tidy.arguments(call.arguments)));
    if (call.kind !== 'completion') return next(call);
    const { argument, chosen } = call;
    const [clean, cleanChosen] = [tidy.arguments(argument), tidy.arguments(chosen)];
    return next(
      clean === argument && cleanChosen === chosen ? call : { ...call, argument: clean, chosen: cleanChosen },
    );
  };
}

function withArguments<C extends Call & Pick<ToolCall, 'arguments'>>(call: C, args: C['arguments']): C {
  return args === call.arguments ? call : { ...call, arguments: args };
}

function refuse(message: string): never {
  throw new ToolcribError('invalid_arguments', message);
}

function textAt(args: ToolCall['arguments'], path: readonly string[]): string | undefined {
  const value = path.reduce<unknown>((node, key) => (isObject(node) ? node[key] : undefined), args);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const CHANGED_MIRROR = 'contains control characters, and is repeated in a header; send it without them';
const CHANGED_KEY = 'contains a control character or a lone surrogate; send it without';
const HARMFUL = /[^\P{Cc}\t\n\r]/u;
const CONTROL = /\p{Cc}/u;
const ALL_HARMFUL = /[^\P{Cc}\t\n\r]/gu;
const MAX_SHOWN = 64;

/** Cleans the arguments of one tool; clean values are returned unchanged. */
class Tidier {
  readonly #settings: Settings;
  readonly #refuse: (issue: string) => never;
  readonly #root: JsonSchema | undefined;
  readonly #path: (string | number)[] = [];

  constructor(settings: Settings, refusing: (issue: string) => never, root?: JsonSchema) {
    this.#settings = settings;
    this.#refuse = refusing;
    this.#root = root;
  }

  arguments<T extends Readonly<Record<string, unknown>>>(args: T): T {
    this.#path.length = 0;
    return this.#inside(args, this.#root) as T;
  }

  /** Refuses the arguments because of one place. */
  refuse(path: readonly string[], message: string): never {
    this.#path.splice(0, Infinity, ...path);
    return this.#complain(message);
  }

  #value(value: unknown, given: unknown): unknown {
    if (typeof value === 'string') return this.#scalar(this.#text(value), given);
    if (typeof value === 'object' && value !== null) return this.#inside(value, given);
    return typeof value === 'number' ? this.#scalar(value, given) : value;
  }

  #scalar(value: string | number, given: unknown): unknown {
    if (!this.#settings.coerce || given === undefined) return value;
    return coerceScalar(value, resolveSchema(given, this.#root!));
  }

  #inside(value: object, given: unknown): unknown {
    const { maxDepth } = this.#settings;
    if (this.#path.length >= maxDepth)
      return this.#complain(`is nested deeper than ${maxDepth} levels; send flatter data`);
    const schema = given === undefined ? undefined : resolveSchema(given, this.#root!);
    return Array.isArray(value)
      ? this.#list(value, schema)
      : this.#object(value as Record<string, unknown>, schema);
  }

  #list(list: readonly unknown[], schema: JsonSchema | undefined): readonly unknown[] {
    let copy: unknown[] | undefined;
    for (let index = 0; index < list.length; index++) {
      this.#path.push(index);
      const tidy = this.#value(list[index], schema && memberSchema(schema, index));
      this.#path.pop();
      if (tidy === list[index]) continue;
      copy ??= [...list];
      copy[index] = tidy;
    }
    return copy ?? list;
  }

  #object(object: Readonly<Record<string, unknown>>, schema: JsonSchema | undefined): object {
    let entries: [string, unknown][] | undefined;
    const keys = Object.keys(object);
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]!;
      this.#path.push(key);
      this.#checkKey(key);
      const member = schema && memberSchema(schema, key);
      const isDropped = this.#settings.dropUnknown && member === false;
      const tidy = isDropped ? undefined : this.#value(object[key], member);
      this.#path.pop();
      if (!isDropped && tidy === object[key]) {
        entries?.push([key, tidy]);
        continue;
      }
      entries ??= keys.slice(0, index).map((before) => [before, object[before]]);
      if (!isDropped) entries.push([key, tidy]);
    }
    // From entries, because a field may be named __proto__.
    return entries ? Object.fromEntries(entries) : object;
  }

  // Keys are never changed: headers, rules and schemas refer to the name as sent.
  #checkKey(key: string): void {
    const { maxStringLength } = this.#settings;
    if (key.length > maxStringLength)
      this.#complain(`is longer than ${maxStringLength} characters; send less`);
    if (CONTROL.test(key) || !key.isWellFormed()) this.#complain(CHANGED_KEY);
  }

  #text(text: string): string {
    const { maxStringLength } = this.#settings;
    if (text.length > maxStringLength)
      return this.#complain(`is longer than ${maxStringLength} characters; send less`);
    const clean = HARMFUL.test(text) ? text.replaceAll(ALL_HARMFUL, '') : text;
    return clean.isWellFormed() ? clean : clean.toWellFormed();
  }

  #complain(message: string): never {
    // The names come from the caller and have not been checked.
    const path = this.#path
      .slice(0, 8)
      .map((part) => (typeof part === 'string' ? cleanText(part).slice(0, MAX_SHOWN) : part));
    return this.#refuse(describeIssues([{ path, message }]));
  }
}
