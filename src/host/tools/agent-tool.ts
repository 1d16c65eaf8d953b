import type { Progress } from '../../core/call.ts';
import { defineTool, type Tool } from '../../core/tool.ts';
import { ToolcribError } from '../../base/errors.ts';

/** What an agent is asked by another, and how it is stopped. */
export interface AskedAgent {
  readonly question: string;
  readonly signal: AbortSignal;
  readonly report: (progress: Progress) => void;
}

/** Has an agent answer a question; what it returns is the answer. */
export type RunAgentTool = (asked: AskedAgent) => Promise<string>;

/** What another agent is told about the one it may ask. */
export interface AgentToolOptions {
  /** What the agent is good for. */
  readonly description?: string;
}

/** One agent as a tool of another: `ask_<name>` takes a question and returns the answer. */
export function agentTool(name: string, run: RunAgentTool, options: AgentToolOptions = {}): Tool {
  if (!/^[A-Za-z0-9_-]{1,60}$/.test(name))
    throw new ToolcribError(
      'invalid_setup',
      `${JSON.stringify(name)} cannot be asked as a tool; a name has up to 60 letters, digits, "-" and "_".`,
    );
  const about = options.description === undefined ? '' : ` ${options.description}`;
  return defineTool(
    {
      name: `ask_${name}`,
      description: `Asks the agent ${name}, and returns its answer.${about}`,
      input: {
        type: 'object',
        properties: {
          question: {
            type: 'string',
            minLength: 1,
            description: 'The whole question: the other agent sees nothing else of this conversation.',
          },
        },
        required: ['question'],
        additionalProperties: false,
      },
      // By itself it changes nothing: whatever the other agent does is decided there.
      annotations: { readOnlyHint: true },
    },
    ({ question }, { signal, progress }) =>
      run({
        question,
        signal,
        report: ({ progress: done, total, message }) => progress(done, total, message),
      }),
  );
}
