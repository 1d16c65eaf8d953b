import { content, defineTool } from 'toolcrib';
import type { TextBlock, Tool, ToolContext } from 'toolcrib';

/** Asks for the user's name, under a key that the suite knows. */
export function askName({ elicit }: ToolContext, key = 'user_name', message = 'What is your name?') {
  return elicit({
    key,
    message,
    schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  });
}

function askConfirmation({ elicit }: ToolContext) {
  return elicit({
    key: 'confirm',
    message: 'Please confirm',
    schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  });
}

function askModel({ sample }: ToolContext, prompt: { key?: string; text: string; maxTokens?: number }) {
  const { key, text, maxTokens = 100 } = prompt;
  return sample({
    messages: [{ role: 'user', content: { type: 'text', text } }],
    maxTokens,
    ...(key !== undefined && { key }),
  });
}

function say(label: string, answer: unknown): TextBlock {
  return content.text(`${label}: ${JSON.stringify(answer)}`);
}

/** Tools that ask the user, the client's model or the client before they answer. */
export const askingTools: readonly Tool[] = [
  defineTool(
    {
      name: 'test_sampling',
      description: "Asks the client's model.",
      input: { type: 'object', properties: { prompt: { type: 'string' } }, required: ['prompt'] },
    },
    async ({ prompt }, context) => say('LLM response', (await askModel(context, { text: prompt })).content),
  ),
  defineTool(
    {
      name: 'test_elicitation',
      description: 'Asks the user for a name and an address.',
      input: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
    },
    async ({ message }, { elicit }) =>
      say(
        'User response',
        await elicit({
          message,
          schema: {
            type: 'object',
            properties: {
              username: { type: 'string', description: "User's response" },
              email: { type: 'string', description: "User's email address" },
            },
            required: ['username', 'email'],
          },
        }),
      ),
  ),
  defineTool(
    {
      name: 'test_elicitation_sep1034_defaults',
      description: 'Asks with a default for every kind of field.',
    },
    async (_args, { elicit }) =>
      say(
        'Elicitation completed',
        await elicit({
          message: 'Please review and update the form fields with defaults',
          schema: {
            type: 'object',
            properties: {
              name: { type: 'string', description: 'User name', default: 'John Doe' },
              age: { type: 'integer', description: 'User age', default: 30 },
              score: { type: 'number', description: 'User score', default: 95.5 },
              status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
              verified: { type: 'boolean', description: 'Verification status', default: true },
            },
            required: [],
          },
        }),
      ),
  ),
  defineTool(
    { name: 'test_elicitation_sep1330_enums', description: 'Asks with every form of choice.' },
    async (_args, { elicit }) =>
      say(
        'Elicitation completed',
        await elicit({
          message: 'Please select options from the enum fields',
          schema: {
            type: 'object',
            properties: {
              untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
              titledSingle: {
                type: 'string',
                oneOf: [
                  { const: 'value1', title: 'First Option' },
                  { const: 'value2', title: 'Second Option' },
                  { const: 'value3', title: 'Third Option' },
                ],
              },
              legacyEnum: {
                type: 'string',
                enum: ['opt1', 'opt2', 'opt3'],
                enumNames: ['Option One', 'Option Two', 'Option Three'],
              },
              untitledMulti: {
                type: 'array',
                items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
              },
              titledMulti: {
                type: 'array',
                items: {
                  anyOf: [
                    { const: 'value1', title: 'First Choice' },
                    { const: 'value2', title: 'Second Choice' },
                    { const: 'value3', title: 'Third Choice' },
                  ],
                },
              },
            },
            required: [],
          },
        }),
      ),
  ),
  defineTool(
    {
      name: 'test_missing_capability',
      description: 'Works only with a client that lends its model.',
      requires: ['sampling'],
    },
    async (_args, context) => say('LLM response', (await askModel(context, { text: 'Hello' })).content),
  ),
  defineTool(
    { name: 'test_streaming_elicitation', description: 'Asks the user in the course of a streamed answer.' },
    async (_args, context) => {
      context.progress(1, 2);
      return say('User response', await askName(context));
    },
  ),
];

/** Tools whose questions the suite follows round by round. */
export const roundTripTools: readonly Tool[] = [
  defineTool(
    { name: 'test_input_required_result_elicitation', description: 'Greets the user by name.' },
    async (_args, context) => {
      const answer = await askName(context);
      return content.text(answer.action === 'accept' ? `Hello, ${answer.content.name}!` : 'Hello, stranger!');
    },
  ),
  defineTool(
    { name: 'test_input_required_result_sampling', description: "Asks the client's model for a capital." },
    async (_args, context) => {
      const prompt = { key: 'capital_question', text: 'What is the capital of France?' };
      return say('LLM response', (await askModel(context, prompt)).content);
    },
  ),
  defineTool(
    { name: 'test_input_required_result_list_roots', description: "Lists the client's folders." },
    async (_args, { roots }) => say('Client roots', await roots({ key: 'client_roots' })),
  ),
  defineTool(
    { name: 'test_input_required_result_request_state', description: 'Asks with a state to carry along.' },
    async (_args, context) => say('state-ok', await askConfirmation(context)),
  ),
  defineTool(
    {
      name: 'test_input_required_result_tampered_state',
      description: 'Asks with a state nobody may change.',
    },
    async (_args, context) => say('state-ok', await askConfirmation(context)),
  ),
  defineTool(
    { name: 'test_input_required_result_multiple_inputs', description: 'Asks three questions at once.' },
    async (_args, context) => {
      const answers = await Promise.all([
        askName(context),
        askModel(context, { key: 'greeting', text: 'Generate a greeting', maxTokens: 50 }),
        context.roots({ key: 'client_roots' }),
      ]);
      return say('All answers', answers);
    },
  ),
  defineTool(
    {
      name: 'test_input_required_result_multi_round',
      description: 'Asks two questions, one after the other.',
    },
    async (_args, context) => {
      const name = await askName(context, 'step1', 'Step 1: What is your name?');
      const color = await context.elicit({
        key: 'step2',
        message: 'Step 2: What is your favorite color?',
        schema: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
      });
      return say('Both answers', { name, color });
    },
  ),
  defineTool(
    { name: 'test_input_required_result_capabilities', description: 'Asks only what the client can answer.' },
    async (_args, context) => {
      const { capabilities } = context.client;
      const answers = await Promise.all([
        'elicitation' in capabilities ? askName(context) : undefined,
        'sampling' in capabilities
          ? askModel(context, { key: 'greeting', text: 'Generate a greeting' })
          : undefined,
        'roots' in capabilities ? context.roots({ key: 'client_roots' }) : undefined,
      ]);
      return say('Answers', answers);
    },
  ),
];
