import type { LongIntegers } from '../base/exact-json.ts';
import type { JsonSchema } from '../schema/schema.ts';

/** Something a running call wants from the client, its user or its model. */
export type Question = FormQuestion | UrlQuestion | SampleQuestion | RootsQuestion;

/** What is known of a question that another server asks. */
interface FarFacts {
  /** Integers that a number cannot hold, by their place in what that server sent. */
  readonly longIntegers?: LongIntegers;
}

/** A form for the user to fill in; the schema is flat. */
export interface FormQuestion extends FarFacts {
  readonly kind: 'form';
  readonly message: string;
  readonly schema: JsonSchema;
  /** Fields this version does not know, kept as they came. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** A page for the user to visit, for what must not pass through the client. */
export interface UrlQuestion extends FarFacts {
  readonly kind: 'url';
  readonly message: string;
  readonly url: string;
  /** Fields this version does not know, kept as they came. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** A prompt for the client's model. */
export interface SampleQuestion extends FarFacts {
  readonly kind: 'sample';
  readonly params: Readonly<Record<string, unknown>>;
}

/** The folders the client works in. */
export interface RootsQuestion extends FarFacts {
  readonly kind: 'roots';
  /** Fields this version does not know, kept as they came. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** How the user answered a form or a page. */
export type ElicitAnswer<T = Record<string, unknown>> =
  | { readonly action: 'accept'; readonly content: T }
  | { readonly action: 'decline' }
  | { readonly action: 'cancel' };

/** What the client's model said. */
export interface SampleAnswer {
  readonly role: 'user' | 'assistant';
  readonly content: unknown;
  readonly model: string;
  readonly stopReason?: string;
}

/** A folder the client works in. */
export interface Root {
  readonly uri: string;
  readonly name?: string;
}
