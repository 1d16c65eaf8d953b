import { type BenchTool, callRequest } from './requests.ts';
import { scratchFile } from './scratch.ts';
import type { HttpTarget, TargetSpec } from './target-process.ts';
import { verifyCall } from './verify.ts';

/** A bare HTTP target that builds the bytes toolcrib was seen to answer. */
export async function bareLike(toolcrib: HttpTarget): Promise<TargetSpec> {
  return { name: 'bare node:http', file: 'bare', options: { tools: 10, answers: await answersOf(toolcrib) } };
}

/** Takes toolcrib's real answer to each tool and writes them to a file for the bare targets. */
export async function answersOf(
  toolcrib: HttpTarget,
  tools: readonly BenchTool[] = ['echo', 'echo_object'],
): Promise<string> {
  const answers: Record<string, unknown> = {};
  for (const tool of tools) {
    const { body } = await verifyCall(toolcrib, tool, callRequest(tool, '2026-07-28'));
    answers[tool] = JSON.parse(body);
  }
  return scratchFile('answers.json', JSON.stringify(answers));
}

/** Throws unless the bare target and toolcrib answer with the same bytes. */
export async function verifySameBytes(
  bare: HttpTarget,
  toolcrib: HttpTarget,
  tool: BenchTool,
): Promise<void> {
  const request = callRequest(tool, '2026-07-28');
  const expected = await verifyCall(toolcrib, tool, request);
  const actual = await verifyCall(bare, tool, request);
  if (actual.body === expected.body && actual.contentType === expected.contentType) return;
  throw new Error(`The bare handler does not write what toolcrib writes:\n${actual.body}\n${expected.body}`);
}
