import type { ModelTool, Part } from './model.ts';

const CHUNK_CHARS = 50_000;
const MAX_CHARS = 8_000_000;

interface Kept {
  readonly text: string;
  readonly source: readonly Part[];
}

/** Holds texts that were too long for a model, so that it can read on; the oldest makes room. */
export class Spill {
  readonly #kept = new Map<string, Kept>();
  readonly #maxChars: number;
  #chars = 0;
  #last = 0;

  constructor({ maxChars = MAX_CHARS }: { readonly maxChars?: number } = {}) {
    this.#maxChars = maxChars;
  }

  /** How many characters are held. */
  get chars(): number {
    return this.#chars;
  }

  /** Holds a text, after a line that names its origin, and returns its id; a text beyond the limit is cut. */
  keep(text: string, source: readonly Part[] = []): string {
    const kept = text.slice(0, this.#maxChars);
    const id = `more-${++this.#last}`;
    this.#kept.set(id, { text: kept, source });
    this.#chars += kept.length;
    for (const [oldest, { text: old }] of this.#kept) {
      if (this.#chars <= this.#maxChars) break;
      this.#kept.delete(oldest);
      this.#chars -= old.length;
    }
    return id;
  }

  /** A piece of a held text, from a character on, and whether there is more. */
  read(args: Readonly<Record<string, unknown>>): {
    readonly content: readonly Part[];
    readonly isError: boolean;
  } {
    const { id, from = 0 } = args;
    if (typeof id !== 'string')
      return told('"id" must be the id that a shortened result gave; this tool does nothing else.', 'failed');
    const known = this.#kept.get(id);
    if (known === undefined)
      return told('Nothing is kept under this id any more; call the tool again.', 'failed');
    const { text, source } = known;
    if (typeof from !== 'number' || !Number.isInteger(from) || from < 0 || from >= text.length)
      return told(`"from" must be a whole number from 0 to ${text.length - 1}.`, 'failed');
    const end = cutAt(text, from + CHUNK_CHARS);
    const rest =
      end < text.length ? `\n[toolcrib: ${text.length - end} characters more, from ${end} on]` : '';
    return { content: [...source, { type: 'text', text: text.slice(from, end) + rest }], isError: false };
  }
}

/** The tool that reads on in what a `Spill` holds. */
export const readMoreTool: ModelTool = {
  name: 'read_more',
  description: 'Reads on in a tool result that was too long to be shown whole.',
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'The id that the shortened result gave.' },
      from: { type: 'integer', minimum: 0, description: 'The character to begin with; 0 unless given.' },
    },
    required: ['id'],
    additionalProperties: false,
  },
};

/** Where text can be cut at about this place: at the end of a line if one is near, and never within a character. */
export function cutAt(text: string, end: number): number {
  if (end >= text.length) return text.length;
  const line = text.lastIndexOf('\n', end - 1) + 1;
  if (line > end - 1_000 && line > 0 && line > end * 0.9) return line;
  const code = text.charCodeAt(end - 1);
  return code >= 0xd800 && code < 0xdc00 ? end - 1 : end;
}

function told(text: string, how: 'done' | 'failed'): { content: readonly Part[]; isError: boolean } {
  return { content: [{ type: 'text', text }], isError: how === 'failed' };
}
