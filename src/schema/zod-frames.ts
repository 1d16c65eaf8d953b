import { fewIssues, type Payload } from './few-issues.ts';

/** The part of Zod's own interface for libraries that is used here. */
export interface ZodSchema {
  readonly _zod: ZodInside;
  clone(def: object): ZodSchema;
}

interface ZodInside {
  readonly def: ZodDef;
  run: (payload: Payload, context: Context) => Payload | Promise<Payload>;
}

interface ZodDef {
  readonly type: string;
  readonly element?: ZodSchema;
  readonly shape?: Readonly<Record<string, ZodSchema>>;
  readonly items?: readonly ZodSchema[];
  readonly rest?: ZodSchema | null;
  readonly keyType?: ZodSchema;
  readonly valueType?: ZodSchema;
  readonly checks?: readonly unknown[];
  /** The check that a schema makes by its kind, such as that a text is an address. */
  readonly check?: string;
  readonly innerType?: ZodSchema;
  readonly in?: ZodSchema;
}

/** Whether a check may return a promise. */
export interface Context {
  readonly async: boolean;
}

/** A schema whose members were checked before it. */
export interface Frame {
  readonly whole: ZodSchema;
  /** The members that are to be checked on their own. */
  membersOf(value: unknown): readonly Member[];
  /** Runs the check of the whole with the results of these members; such a result can be used once. */
  takeOver<T>(members: readonly Member[], results: readonly Payload[], run: () => T): T;
}

/** A member of a value, and its schema. */
export interface Member {
  readonly inner: ZodSchema;
  readonly value: unknown;
}

const frames = new WeakMap<ZodSchema, Frame | { readonly isNone: true }>();

/** The frame of a schema; `undefined` if its kind does not hand members to their schemas unchanged. */
export function frameOf(schema: ZodSchema): Frame | undefined {
  let frame = frames.get(schema);
  if (!frame) frames.set(schema, (frame = makeFrame(schema) ?? { isNone: true }));
  return 'isNone' in frame ? undefined : frame;
}

function makeFrame(schema: ZodSchema): Frame | undefined {
  if (typeof schema._zod?.run !== 'function' || typeof schema.clone !== 'function') return undefined;
  const { def } = schema._zod;
  switch (def.type) {
    case 'array':
      return frameOfList(schema, 'element', 0);
    case 'tuple':
      return frameOfList(schema, 'rest', def.items?.length ?? 0);
    case 'object':
      return frameOfGroup(schema, def.shape ?? {});
    case 'record':
      return isAnyText(def.keyType) ? frameOfOne(schema, 'valueType', namedMembers) : undefined;
    case 'pipe':
      return frameOfOne(schema, 'in', (value) => [value]);
    case 'optional':
    case 'nullable':
    case 'nonoptional':
    case 'default':
    case 'prefault':
    case 'readonly':
      return frameOfOne(schema, 'innerType', (value) => [value]);
    default:
      return undefined;
  }
}

// A member whose key is refused is not checked.
function isAnyText(key: ZodSchema | undefined): boolean {
  const def = key?._zod.def;
  return def?.type === 'string' && def.check === undefined && (def.checks ?? []).length === 0;
}

// Zod never reads a member of this name.
function namedMembers(value: object): readonly unknown[] {
  return Object.entries(value).flatMap(([name, member]) => (name === '__proto__' ? [] : [member as unknown]));
}

// All items are of one schema, which is run for each of them in order.
function frameOfList(schema: ZodSchema, key: 'element' | 'rest', from: number): Frame | undefined {
  const inner = schema._zod.def[key];
  if (!inner) return undefined;
  return frameWith([inner], {
    wholeWith: ([standIn]) => schema.clone({ ...schema._zod.def, [key]: standIn }),
    membersOf: (value) =>
      Array.isArray(value) ? value.slice(from).map((item: unknown) => ({ inner, value: item })) : [],
    finder: (_, results) => {
      let next = 0;
      return () => results[next++];
    },
  });
}

function frameOfOne(
  schema: ZodSchema,
  key: 'valueType' | 'innerType' | 'in',
  read: (value: object) => readonly unknown[],
): Frame | undefined {
  const inner = schema._zod.def[key];
  if (!inner) return undefined;
  return frameOfNamed([inner], {
    wholeWith: ([standIn]) => schema.clone({ ...schema._zod.def, [key]: standIn }),
    read: (value) => read(value).map((each) => [0, each]),
  });
}

function frameOfGroup(schema: ZodSchema, shape: Readonly<Record<string, ZodSchema>>): Frame {
  const names = Object.keys(shape).filter((name) => name !== '__proto__');
  return frameOfNamed(
    names.map((name) => shape[name]!),
    {
      wholeWith: (standIns) => {
        const members = Object.fromEntries(names.map((name, index) => [name, standIns[index]]));
        return schema.clone({ ...schema._zod.def, shape: { ...shape, ...members } });
      },
      read: (value) => names.map((name, index) => [index, (value as Record<string, unknown>)[name]]),
    },
  );
}

interface Parts {
  readonly wholeWith: (standIns: readonly ZodSchema[]) => ZodSchema;
  /** The members of a value, each with the index of its schema. */
  readonly read: (value: object) => readonly (readonly [index: number, member: unknown])[];
}

// Stand-ins know members by identity, so the check of the whole does those that are no objects or are there twice.
function frameOfNamed(inners: readonly ZodSchema[], { wholeWith, read }: Parts): Frame {
  return frameWith(inners, {
    wholeWith,
    membersOf(value) {
      const members = read(value as object);
      const places = new Map<unknown, number>();
      for (const [, member] of members) places.set(member, (places.get(member) ?? 0) + 1);
      return members
        .filter(([, member]) => typeof member === 'object' && member !== null && places.get(member) === 1)
        .map(([index, member]) => ({ inner: inners[index]!, value: member }));
    },
    finder(members, results) {
      const places = new Map(members.map(({ value }, at) => [value, at]));
      return (value, inner) => {
        const at = places.get(value);
        return at !== undefined && members[at]!.inner === inner ? results[at] : undefined;
      };
    },
  });
}

interface Making extends Pick<Frame, 'membersOf'> {
  readonly wholeWith: (standIns: readonly ZodSchema[]) => ZodSchema;
  /** Finds the results of members when the check of the whole comes to them. */
  readonly finder: (members: readonly Member[], results: readonly Payload[]) => Find;
}

type Find = (value: unknown, inner: ZodSchema) => Payload | undefined;

function frameWith(inners: readonly ZodSchema[], { wholeWith, membersOf, finder }: Making): Frame {
  let find: Find | undefined;
  return {
    whole: wholeWith(inners.map((inner) => standInFor(inner, (value) => find?.(value, inner)))),
    membersOf,
    takeOver(members, results, run) {
      const before = find;
      const found = finder(members, results);
      // Problems are left out as Zod comes to them: those of a member that it skips must not displace others.
      const few = fewIssues();
      find = (value, inner) => {
        const result = found(value, inner);
        return result && few(result);
      };
      try {
        return run();
      } finally {
        find = before;
      }
    },
  };
}

// In all other respects it is the schema itself, because Zod also reads from it whether the member is optional.
function standInFor(inner: ZodSchema, resultOf: (value: unknown) => Payload | undefined): ZodSchema {
  const run: ZodInside['run'] = (payload, context) =>
    resultOf(payload.value) ?? inner._zod.run(payload, context);
  const inside = Object.create(inner._zod, { run: { value: run } }) as ZodInside;
  return Object.create(inner, { _zod: { value: inside } }) as ZodSchema;
}
