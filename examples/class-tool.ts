import { AbstractTool, createServer, ToolRegistry, type ToolContext } from 'toolcrib';
import { serveStdio } from 'toolcrib/node';

class SearchNotes extends AbstractTool<{ query: string; limit: number }> {
  readonly #notes: readonly string[];

  constructor(notes: readonly string[]) {
    super(
      'search_notes',
      'Searches notes by text. Returns those that match. Use it to recall what was written.',
      {
        properties: {
          query: { type: 'string', minLength: 2, description: 'Text to look for.' },
          limit: { type: 'integer', minimum: 1, maximum: 100, default: 10 },
        },
        required: ['query'],
      },
    );
    this.#notes = notes;
  }

  execute({ query, limit }: { query: string; limit: number }, { progress }: ToolContext): unknown {
    const found = this.#notes.filter((note, index) => {
      progress(index + 1, this.#notes.length);
      return note.includes(query);
    });
    return found.length > 0 ? { notes: found.slice(0, limit) } : { error: `No note mentions "${query}".` };
  }

  protected override getDefaultAnnotations() {
    return { readOnlyHint: true, openWorldHint: false };
  }
}

const notes = ['Buy milk', 'Call Ada about the crib', 'The crib opens at eight'];
await serveStdio(
  createServer({ name: 'notes', source: new ToolRegistry().registerTool(new SearchNotes(notes)) }),
);
