import type { Clock } from '../../base/clock.ts';
import type { Message, Part } from '../models/model.ts';
import type { Spill } from '../models/spill.ts';
import type { ToolBlock } from '../models/tool-block.ts';
import type { Budget } from './budget.ts';
import type { OwnTool } from './own-tool.ts';
import type { RunSink } from './run-events.ts';
import type { ConversationOptions, RunnableAgent } from './run-options.ts';
import type { RunSpan } from './run-spans.ts';
import type { WorkTime } from './work-time.ts';

/** What a run needs of its conversation. */
export interface RunFrame {
  readonly agent: RunnableAgent;
  readonly options: ConversationOptions;
  readonly clock: Clock;
  readonly spill: Spill;
  readonly block: ToolBlock;
  readonly askedBy: AskingRun | undefined;
  messages: readonly Message[];
  ownTool(name: string): OwnTool | undefined;
  news(): Promise<readonly Part[]>;
  readonly tell: RunSink;
}

/** The run that asks for another one. */
export interface AskingRun {
  readonly id: string;
  readonly call: string;
  readonly budget: Budget;
  readonly time: WorkTime;
  readonly span: RunSpan;
  readonly depth: number;
}
