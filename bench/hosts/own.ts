import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineTool, ToolRegistry } from 'toolcrib';
import { createAgent, loadAgentConfig, runAgent, scripted } from 'toolcrib/host';
import { answer, calls, instructions, lookUp, offered, prompt, type Ask } from './question.ts';

/** Our host, with all its stages and tools of its own process. */
export async function openOwn(): Promise<Ask> {
  const registry = new ToolRegistry().registerTool(
    ...offered.map(({ name, description, schema }) =>
      defineTool({ name, description, input: schema, annotations: { readOnlyHint: true } }, (args) =>
        lookUp(args as { readonly id: string }),
      ),
    ),
  );
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-bench-'));
  const file = join(folder, 'agent.yaml');
  writeFileSync(file, JSON.stringify({ name: 'bench', instructions }));
  const agent = await createAgent(await loadAgentConfig(file), {
    tools: registry,
    mode: 'autonomous',
    // The questions come faster than any person's.
    stages: { rateLimit: { perMinute: 10_000_000 } },
  });
  rmSync(folder, { recursive: true });
  return async () => {
    const model = scripted([{ toolCalls: calls }, answer]);
    const { text, usage } = await runAgent(agent, { model, prompt });
    if (text !== answer || usage.calls !== calls.length) throw new Error('Our host answered something else.');
    return model.requests;
  };
}
