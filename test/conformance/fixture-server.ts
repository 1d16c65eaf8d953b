import { createServer, ToolRegistry, withStages } from 'toolcrib';
import { join } from 'node:path';
import { defineSkill, listen, serveStdio } from 'toolcrib/node';
import { prompts, togglePrompt } from './fixture-prompts.ts';
import { askingTools, roundTripTools } from './fixture-questions.ts';
import { resources } from './fixture-resources.ts';
import { breakDown, taskTools } from './fixture-tasks.ts';
import { plainTools, triggersFor } from './fixture-tools.ts';

const registry = new ToolRegistry();
registry.registerTool(
  ...plainTools,
  ...askingTools,
  ...roundTripTools,
  ...taskTools,
  ...triggersFor(registry, () => togglePrompt(registry)),
);
registry.registerResource(...resources);
registry.registerPrompt(...prompts);
registry.registerSkill(
  await defineSkill({ dir: join(import.meta.dirname, '../../examples/skills/refund-requests') }),
);

const server = createServer({
  name: 'toolcrib-conformance',
  version: '1.0.0',
  source: withStages(registry, [breakDown]),
});
if (process.argv[2] === 'stdio') {
  await serveStdio(server);
} else {
  const { url } = await listen(server, { port: 0 });
  console.log(url);
  // The parent holds the other end: when it is gone, so is this process.
  process.stdin.on('end', () => process.exit()).resume();
}
