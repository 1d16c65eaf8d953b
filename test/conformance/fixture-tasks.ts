import { setTimeout as sleep } from 'node:timers/promises';
import { content, defineTool, ToolcribError } from 'toolcrib';
import type { Stage, Tool } from 'toolcrib';
import { askName } from './fixture-questions.ts';

const confirmation = {
  type: 'object',
  properties: { confirm: { type: 'boolean' } },
  required: ['confirm'],
} as const;

/** Tools that become tasks, and one that never does. */
export const taskTools: readonly Tool[] = [
  defineTool(
    {
      name: 'greet',
      description: 'Greets at once.',
      input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    },
    ({ name }) => content.text(`Hello, ${name}!`),
  ),
  defineTool(
    {
      name: 'slow_compute',
      description: 'Takes as long as it is told.',
      input: {
        type: 'object',
        properties: { seconds: { type: 'number', minimum: 0 }, label: { type: 'string', default: '' } },
        required: ['seconds'],
      },
    },
    async ({ seconds, label }, { detach, signal }) => {
      if (seconds > 0) detach();
      await sleep(seconds * 1000, undefined, { signal });
      return content.text(`Computed ${label} in ${seconds} s.`);
    },
  ),
  defineTool(
    { name: 'failing_job', description: 'Fails after a second.', requires: ['tasks'] },
    async (_args, { detach, signal }) => {
      detach();
      await sleep(1000, undefined, { signal });
      throw new ToolcribError('tool_failed', 'The job failed, as it always does.');
    },
  ),
  defineTool(
    { name: 'protocol_error_job', description: 'Ends in a protocol error.' },
    async (_args, { detach, signal }) => {
      detach();
      await sleep(100, undefined, { signal });
    },
  ),
  defineTool(
    {
      name: 'confirm_delete',
      description: 'Asks before it deletes.',
      input: { type: 'object', properties: { filename: { type: 'string' } }, required: ['filename'] },
    },
    async ({ filename }, { detach, elicit }) => {
      detach();
      const answer = await elicit({ message: `Delete ${filename}?`, schema: confirmation });
      const agreed = answer.action === 'accept' && answer.content.confirm;
      return content.text(agreed ? `Deleted ${filename}.` : `Kept ${filename}.`);
    },
  ),
  defineTool(
    { name: 'multi_input', description: 'Asks two questions at once.' },
    async (_args, { detach, elicit }) => {
      detach();
      const answers = await Promise.all([
        elicit({ key: 'first', message: 'Confirm the first step', schema: confirmation }),
        elicit({ key: 'second', message: 'Confirm the second step', schema: confirmation }),
      ]);
      return content.text(`Answers: ${JSON.stringify(answers)}`);
    },
  ),
  defineTool(
    { name: 'test_tool_with_task', description: 'Asks for a name, then works.', requires: ['tasks'] },
    async (_args, context) => {
      const answer = await askName(context);
      context.detach();
      await sleep(100, undefined, { signal: context.signal });
      return content.text(answer.action === 'accept' ? `Hello, ${answer.content.name}!` : 'Hello, stranger!');
    },
  ),
];

/** Ends that job in a protocol error, which no tool can do by itself. */
export const breakDown: Stage = {
  name: 'breakDown',
  wrap: (tool, next) =>
    tool.name === 'protocol_error_job'
      ? async (call) => {
          await next(call);
          throw new ToolcribError('internal', 'The job broke down, as it always does.');
        }
      : next,
};
