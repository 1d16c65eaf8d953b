import { ToolcribError } from './errors.ts';
import type { Tool } from './tool.ts';

/** The answer for a tool that does not exist, and equally for one the caller may not see. */
export function unknownTool(name: string): ToolcribError {
  return new ToolcribError('unknown_tool', `Unknown tool: ${name}`, { data: { reason: 'tool_not_found' } });
}

/** Stands for a tool the caller cannot find, so that the attempt goes through the same stages and is on record like any other. */
export function absentTool(name: string): Tool {
  const tool: Tool = {
    name,
    description: '',
    inputSchema: ANYTHING,
    annotations: CHANGES_NOTHING,
    handler() {
      throw unknownTool(name);
    },
  };
  absentTools.add(tool);
  return tool;
}

/** The stand-ins for tools that cannot be found. */
export const absentTools = new WeakSet<Tool>();

const ANYTHING = { type: 'object', properties: {} } as const;
const CHANGES_NOTHING = { readOnlyHint: true } as const;
