/** The messages in a stream of server-sent events, as they arrive. */
export async function* parseEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let text = '';
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const lines = text.slice(0, end).split('\n');
      text = text.slice(end + 2);
      yield lines.flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : [])).join('\n');
    }
  }
}
