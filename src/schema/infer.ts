/**
 * The type a handler receives for a schema: a Standard Schema's output, or the type the JSON Schema describes.
 */
export type HandlerInput<S> = S extends {
  readonly '~standard': { readonly types?: { readonly output: infer Out } | undefined };
}
  ? Out
  : FromJsonSchema<S>;

/**
 * The type a handler may return for a schema: a Standard Schema's input, or the type the JSON Schema describes.
 */
export type HandlerOutput<S> = S extends {
  readonly '~standard': { readonly types?: { readonly input: infer In } | undefined };
}
  ? In
  : FromJsonSchema<S>;

/** The value type of a literal JSON Schema; unsupported keywords leave the type wide. */
export type FromJsonSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : S extends { readonly anyOf: readonly (infer A)[] }
      ? FromJsonSchema<A>
      : S extends { readonly oneOf: readonly (infer A)[] }
        ? FromJsonSchema<A>
        : S extends { readonly type: readonly (infer T)[] }
          ? FromType<T, S>
          : S extends { readonly type: infer T }
            ? FromType<T, S>
            : S extends { readonly properties: object }
              ? FromProperties<S>
              : unknown;

type FromType<T, S> = T extends 'string'
  ? string
  : T extends 'number' | 'integer'
    ? number
    : T extends 'boolean'
      ? boolean
      : T extends 'null'
        ? null
        : T extends 'array'
          ? S extends { readonly items: infer Item }
            ? FromJsonSchema<Item>[]
            : unknown[]
          : T extends 'object'
            ? FromProperties<S>
            : unknown;

type FromProperties<S> = S extends { readonly properties: infer P }
  ? Simplify<
      { -readonly [K in keyof P as IsPresent<S, P, K> extends true ? K : never]: FromJsonSchema<P[K]> } & {
        -readonly [K in keyof P as IsPresent<S, P, K> extends true ? never : K]?: FromJsonSchema<P[K]>;
      }
    >
  : Record<string, unknown>;

// A default is filled in before the handler runs, so the field is present although it is optional on the wire.
type IsPresent<S, P, K extends keyof P> = P[K] extends { readonly default: unknown }
  ? true
  : S extends { readonly required: readonly (infer R)[] }
    ? K extends R
      ? true
      : false
    : false;

type Simplify<T> = { [K in keyof T]: T[K] };
