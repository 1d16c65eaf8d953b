// Runs
export { runAgent, streamAgent } from './host/loop/run-agent.ts';
export { Conversation } from './host/loop/conversation.ts';
export type { AskOptions, ConversationOptions, RunnableAgent, RunOptions } from './host/loop/run-options.ts';
export type * from './host/loop/run-events.ts';
export type { Price, PriceTable, RunLimits } from './host/loop/budget.ts';
export type { AskableAgent, OpenedAgent } from './host/loop/ask-agent.ts';
export type { OnSkill, SkillRequest } from './host/loop/skill-request.ts';
export type { RunSpan, RunSpans } from './host/loop/run-spans.ts';
export { recordRun } from './host/loop/record-run.ts';
export type { RecordRunOptions, RunRecorder } from './host/loop/record-run.ts';
export { readRecord, replay } from './host/loop/replay.ts';
export type { ReadRecord } from './host/loop/replay.ts';

// Agents
export { createAgent, type CreateAgentOptions } from './host/create-agent.ts';
export type * from './host/agent.ts';
export type * from './host/agent-config.ts';
export { errorOf } from './host/tools/agent-calls.ts';
export { filterTools } from './host/tools/filter-tools.ts';
export { hostStages } from './host/tools/host-stages.ts';
export type { HostStageOptions, HostStageParts, HostStages } from './host/tools/host-stages.ts';

// Who decides
export type { Decision, DecisionRequest, GrantScope, OnToolCall } from './stages/approve/decision.ts';
export { Grants, type Grant, type GrantRequest } from './stages/approve/grants.ts';
export type { Verdict } from './stages/approve/which-calls.ts';

// The record
export { openFileJournal, type FileJournal } from './store/journal/file-journal.ts';

// Agents in files
export { loadAgentConfig, readAgentFile } from './host/files/load-agent-config.ts';
export type { AgentReading, LoadAgentOptions } from './host/files/load-agent-config.ts';
export type { AgentInput } from './host/files/agent-schema.ts';
export { describeGrants } from './host/files/describe-grants.ts';

// Models
export { anthropicMessages } from './host/models/anthropic-messages.ts';
export { openAiChat } from './host/models/openai-chat.ts';
export { openAiResponses } from './host/models/openai-responses.ts';
export type { EndpointLimits, EndpointOptions } from './host/models/endpoint-options.ts';
export { scripted } from './host/models/scripted.ts';
export type { ScriptedModel, ScriptedStep, ScriptedTurn } from './host/models/scripted.ts';
export { createModel, type CreateModelOptions } from './host/models/create-model.ts';
export { resolveModel } from './host/models/resolve-model.ts';
export type { NamedModel, ResolvedModel, ResolveModelOptions } from './host/models/resolve-model.ts';
export type * from './host/models/model.ts';

// The text for models
export { contentParts } from './host/models/content-parts.ts';
export type { ContentOptions, ToldContent } from './host/models/content-parts.ts';
export { readMoreTool, Spill } from './host/models/spill.ts';
export { createToolBlock } from './host/models/tool-block.ts';
export type { ToolBlock, ToolBlockOptions, ToolBlockView } from './host/models/tool-block.ts';
export { estimateTokens } from './host/models/estimate-tokens.ts';

// Tools in the words of other libraries
export {
  fromOpenAiToolCalls,
  toOpenAiCallOutput,
  toOpenAiResponsesTools,
  toOpenAiToolMessage,
  toOpenAiTools,
} from './host/models/openai-tools.ts';
export {
  fromAnthropicToolUses,
  toAnthropicToolResult,
  toAnthropicTools,
} from './host/models/anthropic-tools.ts';
export { fromAiSdkTools, toAiSdkTools } from './host/models/ai-sdk.ts';
