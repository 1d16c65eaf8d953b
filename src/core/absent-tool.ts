import { ToolcribError } from '../base/errors.ts';
import { shownName } from '../base/shown-name.ts';
import { unknownPrompt, type Prompt } from './prompts/prompt.ts';
import { resourceNotFound, type Resource, type ResourceTemplate } from './resources/resource.ts';
import type { Tool } from './tool.ts';

/** The answer for a tool that does not exist, and equally for one the caller may not see. */
export function unknownTool(name: string): ToolcribError {
  return new ToolcribError('unknown_tool', `Unknown tool: ${shownName(name)}`, {
    data: { reason: 'tool_not_found' },
  });
}

/**
 * Stands for a tool the caller cannot find, so that the attempt goes through the same stages and is on record like any
 * other.
 */
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

/** Whether a tool is a placeholder for an unknown one; its name is text from the caller. */
export function isAbsent(tool: Tool): boolean {
  return absentTools.has(tool);
}

/** The stand-ins for tools that cannot be found. */
export const absentTools = new WeakSet<Tool>();

/** Stands for a resource the caller cannot find, for the same reason. */
export function absentResource(uri: string): Resource {
  const resource: Resource = {
    uri,
    name: '',
    read() {
      throw resourceNotFound(uri);
    },
  };
  absentReadings.add(resource);
  return resource;
}

/** Stands for a template the caller cannot find; whatever text was sent, it is no pattern. */
export function absentTemplate(uriTemplate: string): ResourceTemplate {
  const template: ResourceTemplate = {
    uriTemplate,
    name: uriTemplate,
    template: NO_PATTERN,
    read() {
      throw resourceNotFound(uriTemplate);
    },
  };
  absentReadings.add(template);
  return template;
}

/** Stands for a prompt the caller cannot find. */
export function absentPrompt(name: string): Prompt {
  const prompt: Prompt = {
    name,
    arguments: {},
    get() {
      throw unknownPrompt(name);
    },
  };
  absentReadings.add(prompt);
  return prompt;
}

/** The stand-ins for resources and prompts that cannot be found. */
export const absentReadings = new WeakSet<object>();

const NO_PATTERN: ResourceTemplate['template'] = Object.freeze({
  variables: [],
  expand: () => '',
  fill: () => '',
  match: () => undefined,
});
const ANYTHING = { type: 'object', properties: {} } as const;
const CHANGES_NOTHING = { readOnlyHint: true } as const;
