// What the suite asks of a server, for servers made with an official SDK. A tool answers, or says what it has to ask.
import { setTimeout as sleep } from 'node:timers/promises';

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
const SOUND = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

const text = (said) => ({ type: 'text', text: said });
const image = { type: 'image', data: PIXEL, mimeType: 'image/png' };
const embedded = (uri, mimeType, said) => ({ type: 'resource', resource: { uri, mimeType, text: said } });
const done = (...content) => ({ content });
const say = (label, answer) => done(text(`${label}: ${JSON.stringify(answer)}`));

const object = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required });
const form = (message, properties, required) => ({
  method: 'elicitation/create',
  params: { mode: 'form', message, requestedSchema: object(properties, required) },
});
const askName = (message = 'What is your name?') => form(message, { name: { type: 'string' } });
const askConfirmation = form('Please confirm', { ok: { type: 'boolean' } });
const askRoots = { method: 'roots/list' };
const askModel = (said, maxTokens = 100) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(said) }], maxTokens },
});

/** Asks everything at once, and answers when there is an answer to each that fits. */
const asking = (label, questions, state) => (_args, context) => {
  const open = Object.entries(typeof questions === 'function' ? questions(context) : questions).filter(
    ([key, question]) => !isAnswer(question, context.answers[key]),
  );
  if (open.length > 0) return { ask: Object.fromEntries(open), state };
  return say(label, context.answers);
};

function isAnswer({ method, params }, answer) {
  if (method === 'roots/list') return Array.isArray(answer?.roots);
  if (method === 'sampling/createMessage') return answer?.content !== undefined;
  if (answer?.action !== 'accept') return answer?.action !== undefined;
  const { properties, required } = params.requestedSchema;
  return required.every((key) => typeof answer.content?.[key] === properties[key].type);
}

const plain = {
  test_simple_text: () => done(text('This is a simple text response for testing.')),
  test_image_content: () => done(image),
  test_audio_content: () => done({ type: 'audio', data: SOUND, mimeType: 'audio/wav' }),
  test_embedded_resource: () =>
    done(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
  test_multiple_content_types: () =>
    done(
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ),
  test_error_handling: () => ({ ...done(text('This tool intentionally fails.')), isError: true }),
  test_tool_with_progress: async (_args, { progress }) => {
    for (const now of [0, 50, 100]) {
      await progress(now, 100);
      await sleep(50);
    }
    return done(text('Reported three times.'));
  },
  test_tool_with_logging: async (_args, { log }) => {
    for (const said of ['started', 'processing', 'completed']) {
      await log('info', `Tool ${said}`);
      await sleep(50);
    }
    return done(text('Logged three times.'));
  },
  test_logging_tool: async (_args, { log }) => {
    await log('info', 'Nobody asked for this');
    return done(text('Logged.'));
  },
  test_reconnection: async (_args, { closeStream }) => {
    closeStream();
    await sleep(100);
    return done(text('Came back.'));
  },
  test_missing_capability: (_args, { capabilities, requireCapability }) => {
    if (!capabilities.sampling) requireCapability({ sampling: {} });
    return done(text('There is a model.'));
  },
  test_streaming_elicitation: async (_args, { progress }) => {
    await progress(1, 2);
    return done(text('Nothing had to be asked.'));
  },
  test_trigger_tool_change: (_args, { changeTools }) => {
    changeTools();
    return done(text('Tool list changed.'));
  },
  test_trigger_prompt_change: (_args, { changePrompts }) => {
    changePrompts();
    return done(text('Prompt list changed.'));
  },
};

const withDefaults = form(
  'Please review and update the form fields with defaults',
  {
    name: { type: 'string', description: 'User name', default: 'John Doe' },
    age: { type: 'integer', description: 'User age', default: 30 },
    score: { type: 'number', description: 'User score', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', description: 'Verification status', default: true },
  },
  [],
);
const options = ['option1', 'option2', 'option3'];
const titled = (word) => [1, 2, 3].map((number) => ({ const: `value${number}`, title: `${word} ${number}` }));
const withChoices = form(
  'Please select options from the enum fields',
  {
    untitledSingle: { type: 'string', enum: options },
    titledSingle: { type: 'string', oneOf: titled('Option') },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
    titledMulti: { type: 'array', items: { anyOf: titled('Choice') } },
  },
  [],
);

const rounds = (name) => `test_input_required_result_${name}`;
const asked = {
  test_elicitation_sep1034_defaults: asking('Elicitation completed', { form: withDefaults }),
  test_elicitation_sep1330_enums: asking('Elicitation completed', { form: withChoices }),
  [rounds('elicitation')]: asking('Hello', { user_name: askName() }),
  [rounds('sampling')]: asking('LLM response', {
    capital_question: askModel('What is the capital of France?'),
  }),
  [rounds('list_roots')]: asking('Client roots', { client_roots: askRoots }),
  [rounds('request_state')]: asking('state-ok', { confirm: askConfirmation }, { step: 1 }),
  [rounds('tampered_state')]: asking('state-ok', { confirm: askConfirmation }, { step: 1 }),
  [rounds('multiple_inputs')]: asking(
    'All answers',
    { user_name: askName(), greeting: askModel('Generate a greeting', 50), client_roots: askRoots },
    { step: 1 },
  ),
  [rounds('multi_round')]: (args, context) => {
    const first = { step1: askName('Step 1: What is your name?') };
    const second = {
      step2: form('Step 2: What is your favorite color?', { color: { type: 'string' } }),
    };
    if (context.state?.step !== 2) {
      if (!isAnswer(first.step1, context.answers.step1)) return { ask: first, state: { step: 1 } };
      return { ask: second, state: { step: 2, name: context.answers.step1.content } };
    }
    return asking('Both answers', second, context.state)(args, context);
  },
  [rounds('capabilities')]: asking('Answers', ({ capabilities }) => ({
    ...(capabilities.elicitation && { user_name: askName() }),
    ...(capabilities.sampling && { greeting: askModel('Generate a greeting') }),
    ...(capabilities.roots && { client_roots: askRoots }),
  })),
};

const withInput = {
  test_sampling: [
    object({ prompt: { type: 'string' } }),
    (args, context) => asking('LLM response', { answer: askModel(args.prompt) })(args, context),
  ],
  test_elicitation: [
    object({ message: { type: 'string' } }),
    (args, context) => {
      const fields = { username: { type: 'string' }, email: { type: 'string' } };
      return asking('User response', { answer: form(args.message, fields) })(args, context);
    },
  ],
  test_x_mcp_header: [
    object({ region: { type: 'string', 'x-mcp-header': 'Region' } }),
    ({ region }) => done(text(`Region: ${region}`)),
  ],
  json_schema_2020_12_tool: [
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      ...object(
        {
          name: { type: 'string' },
          address: { $ref: '#/$defs/address' },
          contactMethod: { type: 'string', enum: ['phone', 'email'] },
          phone: { type: 'string' },
          email: { type: 'string' },
        },
        [],
      ),
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    (args) => say('Called with', args),
  ],
};

/** The tools by name: how each is listed, and what it does. */
export const tools = new Map();
for (const [name, call] of Object.entries({ ...plain, ...asked })) addTool(name, { type: 'object' }, call);
for (const [name, [inputSchema, call]] of Object.entries(withInput)) addTool(name, inputSchema, call);

function addTool(name, inputSchema, call) {
  const description = `The tool "${name}" of the suite.`;
  tools.set(name, { listed: { name, description, inputSchema }, call });
}

const user = (...blocks) => ({ messages: blocks.map((content) => ({ role: 'user', content })) });

/** The prompts by name: their arguments, and what they say. */
export const prompts = new Map(
  Object.entries({
    test_simple_prompt: [[], () => user(text('This is a simple prompt for testing.'))],
    test_prompt_with_arguments: [
      ['arg1', 'arg2'],
      ({ arg1, arg2 }) => user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
    ],
    test_prompt_with_embedded_resource: [
      ['resourceUri'],
      ({ resourceUri }) =>
        user(embedded(resourceUri, 'text/plain', 'Embedded resource content.'), text('Please process it.')),
    ],
    test_prompt_with_image: [[], () => user(image, text('Please analyze the image above.'))],
    test_input_required_result_prompt: [
      [],
      (_args, { answers }) => {
        const question = form('What context should the prompt use?', { context: { type: 'string' } });
        if (!isAnswer(question, answers.user_context)) return { ask: { user_context: question } };
        return user(text(`Use this context: ${answers.user_context.content?.context}`));
      },
    ],
  }).map(([name, [names, get]]) => [
    name,
    {
      listed: {
        name,
        description: `The prompt "${name}" of the suite.`,
        arguments: names.map((each) => ({ name: each, description: 'An argument.', required: true })),
      },
      get,
    },
  ]),
);

const listed = (uri, mimeType) => ({ uri, name: uri, description: 'A resource of the suite.', mimeType });

/** The resources, and the one template. */
export const resources = [
  listed('test://static-text', 'text/plain'),
  listed('test://static-binary', 'image/png'),
  listed('test://watched-resource', 'text/plain'),
];
export const template = {
  uriTemplate: 'test://template/{id}/data',
  name: 'template',
  description: 'Data by id.',
  mimeType: 'application/json',
};

/** What is at an address; `undefined` where nothing is. */
export function read(uri) {
  const known = resources.find((resource) => resource.uri === uri);
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined)
    return { uri, mimeType: template.mimeType, text: JSON.stringify({ id, templateTest: true }) };
  if (!known) return undefined;
  const { mimeType } = known;
  return mimeType === 'image/png'
    ? { uri, mimeType, blob: PIXEL }
    : { uri, mimeType, text: 'This is the content of the static text resource.' };
}
