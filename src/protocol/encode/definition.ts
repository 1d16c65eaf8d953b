import { moveReferences } from '../../schema/references.ts';
import { exactDefinition } from '../../core/definition-digest.ts';
import type { Prompt } from '../../core/prompts/prompt.ts';
import type { Resource, ResourceTemplate } from '../../core/resources/resource.ts';
import { describeSkill, type ServedSkill } from '../../core/resources/skill.ts';
import type { JsonSchema } from '../../schema/schema.ts';
import type { ListedTool, Tool } from '../../core/tool.ts';
import { isObject } from '../../base/json.ts';
import type { JsonObject } from '../wire/json-rpc.ts';
import { knownFields } from '../wire/known-fields.ts';
import type { Features } from '../revisions/revision.ts';

/** A tool as this revision lists it. */
export function encodeTool(tool: Tool, features: Features): JsonObject {
  // What another server lists about tasks of 2025-11-25 would have clients ask this one for them.
  const {
    annotations,
    inputSchema,
    outputSchema,
    execution: _tasks,
    ...described
  } = exactDefinition(tool) as ListedTool;
  const { toolAnnotations, structured, paramHeaders } = features;
  return {
    ...knownFields(described, features),
    inputSchema: paramHeaders ? inputSchema : withoutHeaders(inputSchema),
    ...(outputSchema &&
      structured !== 'none' && {
        outputSchema: structured === 'any' ? outputSchema : toObjectRoot(outputSchema),
      }),
    ...(annotations && toolAnnotations && { annotations }),
  };
}

/** A resource as this revision lists it. */
export function encodeResource(resource: Resource, features: Features): JsonObject {
  return knownFields(exactDefinition(resource), features);
}

/** A resource template as this revision lists it. */
export function encodeTemplate(template: ResourceTemplate, features: Features): JsonObject {
  return knownFields(exactDefinition(template), features);
}

/** A skill as it is listed; only one revision has them. */
export function encodeSkill(skill: ServedSkill): JsonObject {
  return describeSkill(skill);
}

/** A prompt as this revision lists it. */
export function encodePrompt(prompt: Prompt, features: Features): JsonObject {
  const { arguments: args, ...described } = exactDefinition(prompt);
  return {
    ...knownFields(described, features),
    arguments: (args as readonly JsonObject[]).map((argument) => knownFields(argument, features)),
  };
}

// Strict clients of these revisions refuse the whole tool because of an unknown keyword.
function withoutHeaders(schema: JsonSchema): JsonSchema {
  const { 'x-mcp-header': _header, ...rest } = schema;
  const { properties } = rest;
  if (!isObject(properties)) return rest;
  const plain = Object.entries(properties).map(([name, property]) => [
    name,
    isObject(property) ? withoutHeaders(property) : property,
  ]);
  return { ...rest, properties: Object.fromEntries(plain) as JsonObject };
}

// These revisions allow only objects as structured output; other values are wrapped in an object with one member.
function toObjectRoot(schema: JsonSchema): JsonSchema {
  if (schema['type'] === 'object') return schema;
  const { $schema, ...inner } = schema;
  return {
    ...($schema !== undefined && { $schema }),
    type: 'object',
    properties: { result: moveReferences(inner, '#/properties/result') },
    required: ['result'],
  };
}
