import { ToolcribError } from '../../base/errors.ts';
import { parseJson } from '../../base/parse-json.ts';

/**
 * The JSON messages of an event stream in order, for programs that read a stream themselves. Runs in browsers, too;
 * `EventParser` needs the buffers of Node.
 */
export async function* parseSseMessages(
  stream: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
  { maxEventBytes = 4 * 1_048_576 }: { readonly maxEventBytes?: number } = {},
): AsyncGenerator<unknown, void, undefined> {
  let data: string[] = [];
  let name = '';
  let length = 0;
  for await (const { line, rest } of linesOf(stream)) {
    length += line?.length ?? 0;
    if (length + rest > maxEventBytes)
      throw new ToolcribError('invalid_answer', `The stream has an event of over ${maxEventBytes} bytes.`);
    if (line === undefined) continue;
    const [field, value] = fieldOf(line);
    if (field === 'data') data.push(value);
    if (field === 'event') name = value;
    if (line !== '') continue;
    const text = name === '' || name === 'message' ? data.join('\n') : '';
    data = [];
    name = '';
    length = 0;
    if (text !== '') yield readData(text);
  }
}

/** A line, if there is a whole one, and how much is known of the next. */
interface Part {
  readonly line?: string;
  readonly rest: number;
}

async function* linesOf(
  stream: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
): AsyncGenerator<Part, void, undefined> {
  // Also takes away the mark at the beginning of a stream.
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunksOf(stream)) {
    const text = rest + decoder.decode(chunk, { stream: true });
    // A carriage return at the end may be the first half of a line end.
    const end = text.endsWith('\r') ? text.length - 1 : text.length;
    const lines = text.slice(0, end).split(/\r\n|\n|\r/);
    rest = lines.pop()! + text.slice(end);
    for (const line of lines) yield { line, rest: 0 };
    yield { rest: rest.length };
  }
}

// Not every browser can iterate over a stream.
async function* chunksOf(
  stream: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (Symbol.asyncIterator in stream) {
    yield* stream;
    return;
  }
  const reader = (stream as ReadableStream<Uint8Array>).getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}

function fieldOf(line: string): readonly [name: string, value: string] {
  const colon = line.indexOf(':');
  if (colon < 0) return [line, ''];
  return [line.slice(0, colon), line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)];
}

function readData(text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new ToolcribError('invalid_answer', 'The stream has an event that is not JSON.', { cause });
  }
}
