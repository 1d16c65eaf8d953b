import { askDescription, askInput, askToolName } from '../../config/agents.ts';
import { ToolcribError } from '../../base/errors.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import type { AgentEntry } from '../settings/agents.ts';

// Long enough for a page of text; what is longer belongs into a resource.
const MAX_QUESTION = 50_000;

const input = {
  ...askInput,
  properties: { question: { ...askInput.properties.question, minLength: 1, maxLength: MAX_QUESTION } },
} as const;

/** The tool by which callers ask an agent; the source in front of it answers its calls. */
export function askTool(name: string, { description, output, mode }: AgentEntry): Tool {
  const tool = defineTool(
    {
      name: askToolName(name),
      description: askDescription(name, description),
      input,
      ...(output && { output }),
      // A restricted agent calls nothing that is not proven to be read-only.
      annotations: { ...(mode === 'restricted' && { readOnlyHint: true }), openWorldHint: true },
    },
    () => {
      throw new ToolcribError('invalid_setup', 'An agent is asked through the gateway alone.');
    },
  );
  // Its model is in the middle of something when a question comes: it cannot be run again with the answer.
  return Object.freeze({ ...(tool as Tool), asksLive: true });
}
