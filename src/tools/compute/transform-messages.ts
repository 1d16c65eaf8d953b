/** The forms data can have. */
export const FORMATS = ['json', 'csv', 'yaml'] as const;

/** The form of some data. */
export type Format = (typeof FORMATS)[number];

/** What the thread that transforms is handed. */
export interface TransformRequest {
  readonly data: string;
  readonly from: Format;
  readonly query: string;
  readonly to: Format;
  readonly maxBytes: number;
}

/** What it answers: the result as text, or what was wrong. */
export type TransformReply = { readonly text: string } | { readonly error: string; readonly message: string };
