import { PassThrough, type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createServer } from '../../src/server/create-server.ts';
import { serveStdio } from '../../src/server/stdio.ts';
import { recordingSource, type RecordingSource } from '../../src/testing.ts';
import { leaksIn } from './leaks.ts';
import { leakedAnswers, type JsonRpcAnswer } from './raw-http.ts';
import { danger, mirrored } from './target.ts';

/** Sends lines to a server over standard input, hangs up, and returns what it wrote and what ran. */
export async function overStdio(
  lines: Readable | readonly (string | Uint8Array)[],
): Promise<{ answers: JsonRpcAnswer[]; texts: string[]; source: RecordingSource }> {
  const source = recordingSource(danger, mirrored);
  const input = Array.isArray(lines) ? new PassThrough() : (lines as Readable);
  const output = new PassThrough();
  const written = text(output);
  const served = serveStdio(createServer({ source, log: () => {} }), { input, output });
  if (Array.isArray(lines))
    (input as PassThrough).end(
      Buffer.concat(lines.flatMap((line: string) => [Buffer.from(line), Buffer.from('\n')])),
    );
  await served;
  output.end();
  const texts = (await written).split('\n').filter((line) => line !== '');
  leakedAnswers.push(...texts.filter((line) => leaksIn(line).length > 0));
  return { answers: texts.map((line) => JSON.parse(line) as JsonRpcAnswer), texts, source };
}
