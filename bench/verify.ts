import { isDeepStrictEqual } from 'node:util';
import { type BenchAnswer, type BenchRequest, echoText, type EchoTool, post } from './requests.ts';
import { echoObject } from './targets/catalog.ts';

/** Calls an echo tool once and throws unless the answer is right. */
export async function verifyCall(
  where: { name: string; url: string },
  tool: EchoTool,
  request: BenchRequest,
): Promise<BenchAnswer> {
  const answer = await post(where.url, request);
  if (answer.status !== 200) throw wrong(where.name, tool, answer.body);
  verifyResult(where.name, tool, messageOf(answer));
  return answer;
}

/** Throws unless a JSON-RPC answer carries the echoed text. */
export function verifyResult(name: string, tool: EchoTool, message: string): void {
  const { result } = JSON.parse(message) as { result?: CallResult };
  const text = result?.content?.[0]?.text;
  if (tool === 'echo' && text === echoText) return;
  const expected = echoObject(echoText);
  const structured = isDeepStrictEqual(result?.structuredContent, expected);
  if (tool === 'echo_object' && structured && isDeepStrictEqual(JSON.parse(text ?? 'null'), expected)) return;
  throw wrong(name, tool, message);
}

interface CallResult {
  readonly content?: readonly { readonly text?: string }[];
  readonly structuredContent?: unknown;
}

function messageOf({ contentType, body }: BenchAnswer): string {
  if (!contentType.startsWith('text/event-stream')) return body;
  const data = body.split('\n').find((line) => line.startsWith('data:'));
  return data?.slice('data:'.length) ?? '';
}

function wrong(name: string, tool: EchoTool, body: string): Error {
  return new Error(`${name} answered ${tool} wrongly: ${body.slice(0, 300)}`);
}
