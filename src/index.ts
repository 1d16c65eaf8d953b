// Tools
export { defineTool, displayName } from './core/tool.ts';
export type {
  Authorize,
  Icon,
  ListedTool,
  Requirement,
  Tool,
  ToolAnnotations,
  ToolCache,
  ToolDefinition,
} from './core/tool.ts';
export { AbstractTool } from './core/authoring/abstract-tool.ts';
export { requireConfirmation } from './core/authoring/confirmation.ts';
export type { Confirmation, ConfirmationOptions } from './core/authoring/confirmation.ts';
export { tool, toolsFrom } from './core/authoring/decorator.ts';
export type { MethodToolOptions } from './core/authoring/decorator.ts';
export type { JsonSchema, ObjectSchema, SchemaLike } from './schema/schema.ts';
export type {
  ContextData,
  FormRequest,
  SampleRequest,
  Services,
  ToolContext,
  UrlRequest,
} from './core/context.ts';
export type { ElicitAnswer, Root, SampleAnswer } from './core/question.ts';

// Resources and prompts
export { defineResource, defineResourceTemplate } from './core/resources/resource.ts';
export type {
  ReadValue,
  Resource,
  ResourceDefinition,
  ResourceTemplate,
  ResourceTemplateDefinition,
} from './core/resources/resource.ts';
export type { ServedSkill } from './core/resources/skill.ts';
export { definePrompt } from './core/prompts/prompt.ts';
export type {
  Complete,
  CompletionContext,
  Prompt,
  PromptArgument,
  PromptDefinition,
  PromptMessage,
  PromptValue,
} from './core/prompts/prompt.ts';

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
export type { Done, Failed, NeedsInput, Result } from './core/result.ts';
export { attempt } from './base/attempt.ts';
export type { Attempt, AttemptOptions, ErrorClass } from './base/attempt.ts';
export { toolError } from './core/authoring/tool-error.ts';
export type { ToolErrorFacts } from './core/authoring/tool-error.ts';
export { upstreamFailure } from './core/authoring/upstream-failure.ts';
export type { UpstreamFailure } from './core/authoring/upstream-failure.ts';

// Sources and stages
export { ToolRegistry } from './core/registry.ts';
export type { CallableSchema, RegistryOptions } from './core/registry.ts';
export { merge } from './core/merge.ts';
export type { MergedSource, MergeOptions, NamedPlace, NameMap, PrefixRule } from './core/merge.ts';
export { withStages } from './core/stage.ts';
export type { Readable } from './core/expose-readings.ts';
export type { Next, Stage } from './core/stage.ts';
export type { CallRecord } from './core/record.ts';
export type { Reservation } from './core/memory/memory.ts';
export type { Awaitable } from './base/awaitable.ts';
export type {
  Change,
  FoundResource,
  PromptFace,
  ResourceFace,
  SkillFace,
  ToolSource,
} from './core/source.ts';
export { isAbsent } from './core/absent-tool.ts';
export type {
  Call,
  ClientFacts,
  ClientLogLevel,
  CompletionCall,
  Progress,
  PromptCall,
  Reading,
  ResourceCall,
  ToolCall,
} from './core/call.ts';

// Callers
export { localCaller } from './core/caller.ts';
export type { Caller, Tenant } from './core/caller.ts';
export type { Identities, KeyRecord, TenantRecord } from './core/memory/identities.ts';

// Servers
export { createServer } from './server/create-server.ts';
export type { HandleOptions, JsonRpcMessage, Server } from './server/create-server.ts';
export type { ServerOptions } from './server/options.ts';
export type { Head } from './server/http/endpoint.ts';
export type { ProtectedResource } from './server/http/protected-resource.ts';
export type { Refusal } from './core/record.ts';
export type { Log, LogLevel } from './observe/log.ts';
export type { Clock } from './base/clock.ts';
export { createInMemory } from './core/memory/in-memory.ts';
export type {
  EventLog,
  Memory,
  SealingKey,
  SealingKeys,
  SessionRecord,
  SessionRecords,
  SpentStates,
  StreamEvent,
  TaskRecord,
  TaskRecords,
} from './core/memory/memory.ts';

// Clients
export { connect } from './client/connect.ts';
export type { Client, CompletionTarget, Suggestions } from './client/client.ts';
export type { CallResult, DataOptions, PendingCall } from './client/calls/call-result.ts';
export type { ClientOptions, HttpOptions, Limits, RequestOptions, Timeouts } from './client/options.ts';
export type { FormAsked, PageAsked, QuestionContext, QuestionHandlers } from './client/question-handlers.ts';
export type { ClientEvents } from './client/peer.ts';
export type { ServerFacts } from './client/opening/handshake.ts';
export type { ConnectionState } from './client/state.ts';
export type { TaskHandle, TaskState } from './client/calls/task-handle.ts';
export { filterByAudience, resolveLinks, trimByPriority } from './client/calls/blocks.ts';
export type { ResolveOptions } from './client/calls/blocks.ts';
export type { Proxies } from './net/proxies.ts';
export { listSkills, loadSkill } from './client/skills.ts';
export type { ListSkillsOptions, LoadedSkill, Skill, SkillFile } from './client/skills.ts';
export { parseSseMessages } from './protocol/decode/sse-messages.ts';
export {
  Cancelled,
  HttpFailure,
  InvalidArguments,
  PermissionDenied,
  RemoteError,
  SignInNeeded,
  toAgentError,
  ToolExecutionFailed,
  ToolExecutionFailed as ToolExecutionError,
  ToolNotFound,
  ToolTimeout,
} from './client/errors.ts';

// Errors
export { ToolcribError } from './base/errors.ts';
export type { ErrorCode, ErrorDetails } from './base/errors.ts';
