import { isDeepStrictEqual } from 'node:util';
import { type BenchAnswer, type BenchRequest, type BenchTool, echoText, post } from './requests.ts';
import { bulkObject, bulkText, echoObject } from './targets/catalog.ts';

/** Calls an echo tool once and throws unless the answer is right. */
export async function verifyCall(
  where: { name: string; url: string },
  tool: BenchTool,
  request: BenchRequest,
): Promise<BenchAnswer> {
  const answer = await post(where.url, request);
  if (answer.status !== 200) throw wrong(where.name, tool, answer.body);
  verifyResult(where.name, tool, messageOf(answer));
  return answer;
}

/** Throws unless a JSON-RPC answer carries the echoed text. */
export function verifyResult(name: string, tool: BenchTool, message: string): void {
  const { result } = JSON.parse(message) as { result?: CallResult };
  const text = result?.content?.[0]?.text;
  const expected = expectedOf(tool);
  if (typeof expected === 'string' && text === expected) return;
  const structured = isDeepStrictEqual(result?.structuredContent, expected);
  if (structured && isDeepStrictEqual(JSON.parse(text ?? 'null'), expected)) return;
  throw wrong(name, tool, message);
}

function expectedOf(tool: BenchTool): unknown {
  switch (tool) {
    case 'echo':
      return echoText;
    case 'echo_object':
      return echoObject(echoText);
    case 'bulk_text':
      return bulkText;
    case 'bulk_object':
      return bulkObject;
  }
}

interface CallResult {
  readonly content?: readonly { readonly text?: string }[];
  readonly structuredContent?: unknown;
}

function messageOf({ contentType, body }: BenchAnswer): string {
  if (!contentType.startsWith('text/event-stream')) return body;
  // A stream may begin with an event that holds nothing.
  const data = body.split('\n').find((line) => /^data: ?\S/.test(line));
  return data?.slice('data:'.length) ?? '';
}

function wrong(name: string, tool: BenchTool, body: string): Error {
  return new Error(`${name} answered ${tool} wrongly: ${body.slice(0, 300)}`);
}
