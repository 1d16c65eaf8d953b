// Tools
export { defineTool, displayName } from './core/tool.ts';
export type { Icon, ListedTool, Tool, ToolAnnotations, ToolDefinition } from './core/tool.ts';
export { AbstractTool } from './core/abstract-tool.ts';
export { tool, toolsFrom } from './core/decorator.ts';
export type { MethodToolOptions } from './core/decorator.ts';
export type { JsonSchema, ObjectSchema, SchemaLike } from './core/schema.ts';
export type { ToolContext } from './core/context.ts';

// Results
export { content } from './core/content.ts';
export type {
  AnnotationInput,
  AudioBlock,
  ContentAnnotations,
  ContentBlock,
  ImageBlock,
  ResourceBlock,
  ResourceContents,
  ResourceLinkBlock,
  TextBlock,
} from './core/content.ts';
export type { Done, Failed, Result } from './core/result.ts';

// Sources and stages
export { ToolRegistry } from './core/registry.ts';
export type { CallableSchema, RegistryOptions } from './core/registry.ts';
export { withStages } from './core/stage.ts';
export type { Next, Stage } from './core/stage.ts';
export type { Change, ToolSource } from './core/source.ts';
export type { Call, ClientFacts, Progress, ToolCall } from './core/call.ts';

// Callers
export { localCaller } from './core/caller.ts';
export type { Caller, Tenant } from './core/caller.ts';

// Servers
export { createServer } from './server/create-server.ts';
export type { HandleOptions, JsonRpcMessage, Server } from './server/create-server.ts';
export type { ServerOptions } from './server/options.ts';
export type { Head } from './server/endpoint.ts';
export type { Log, LogLevel } from './observe/log.ts';
export type { Clock } from './core/clock.ts';

// Errors
export { ToolcribError } from './core/errors.ts';
export type { ErrorCode, ErrorDetails } from './core/errors.ts';
