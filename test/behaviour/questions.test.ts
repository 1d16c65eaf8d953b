import { expect, test } from 'vitest';
import { definePrompt, defineResource, defineTool } from '../../src/index.ts';
import { callAnswering, requestAnswering, type Asked } from './answering.ts';
import { describeMatrix, type Cell } from './matrix.ts';
import type { Json } from './peer.ts';

const everything = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const textOf = (result: Json): string => (result as { content: { text: string }[] }).content[0]!.text;
const saidBy = (result: Json): unknown => JSON.parse(textOf(result));

const confirm = defineTool({ name: 'confirm', description: 'Asks first.' }, async (_args, { elicit }) => {
  const answer = await elicit({
    message: 'Really?',
    schema: { properties: { ok: { type: 'boolean' } }, required: ['ok'] },
  });
  return answer.action === 'accept' ? { ok: answer.content.ok } : { action: answer.action };
});

const order = defineTool({ name: 'order', description: 'Asks what to bring.' }, async (_args, { elicit }) =>
  elicit({
    message: 'What?',
    schema: {
      properties: {
        cup: {
          type: 'string',
          default: 'small',
          oneOf: [
            { const: 'small', title: 'Small' },
            { const: 'large', title: 'Large' },
          ],
        },
        sort: { enum: ['green', 'black'], default: 'black' },
        spoons: { type: 'integer', minimum: 0, maximum: 3, default: 1 },
        name: { type: 'string', format: 'uuid', minLength: 1 },
        mail: { type: 'string', format: 'email' },
        milk: { type: 'boolean', default: true },
      },
    },
  }),
);

const pick = defineTool({ name: 'pick', description: 'Asks for several.' }, async (_args, { elicit }) =>
  elicit({
    message: 'Which?',
    schema: { properties: { toppings: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } } } },
  }),
);

const visit = defineTool({ name: 'visit', description: 'Sends to a page.' }, async (_args, { elicit }) =>
  elicit({ message: 'Sign in, please.', url: 'https://example.com/sign-in' }),
);

const think = defineTool({ name: 'think', description: 'Asks the model.' }, async (_args, { sample }) => {
  const { content, model } = await sample({
    messages: [{ role: 'user', content: { type: 'text', text: 'A word?' } }],
    maxTokens: 10,
  });
  return { content, model };
});

const lookAround = defineTool({ name: 'look_around', description: 'Asks for folders.' }, (_args, { roots }) =>
  roots(),
);

const accept = (content: Json) => () => ({ action: 'accept', content });
const word = { role: 'assistant', content: { type: 'text', text: 'chalk' }, model: 'm-1' };
const folders = { roots: [{ uri: 'file:///home/ada', name: 'home' }] };

const canAskUser = ({ canBeAsked, asks }: Cell): boolean => canBeAsked && asks !== 'not';
const canSendToPage = ({ canBeAsked, asks }: Cell): boolean => canBeAsked && asks === 'forms and pages';

describeMatrix(({ asks, connect }) => {
  test('a tool asks the user with a form and goes on with the answer', async () => {
    const peer = await connect({ tools: [confirm] }, { capabilities: everything });
    const { result, asked } = await callAnswering(peer, 'confirm', accept({ ok: true }));
    expect(asked).toMatchObject([
      {
        method: 'elicitation/create',
        params: {
          message: 'Really?',
          requestedSchema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
        },
      },
    ]);
    // Naming the form came together with pages; older clients would not know the word.
    expect(asked[0]!.params!['mode']).toBe(asks === 'forms and pages' ? 'form' : undefined);
    expect(saidBy(result)).toEqual({ ok: true });
  });

  test('a form is sent in the format of the revision, and the answer is checked against the whole schema', async () => {
    const peer = await connect({ tools: [order] }, { capabilities: everything });
    const content = { cup: 'large', sort: 'green', spoons: 2, name: '5e0ee3ab-6b85-4ddb-8c2c-9f9f2c3a3d11' };
    const { result, asked } = await callAnswering(peer, 'order', accept(content));
    const old = asks === 'forms';
    expect((asked[0]!.params!['requestedSchema'] as Json)['properties']).toEqual({
      cup: old
        ? { type: 'string', enum: ['small', 'large'], enumNames: ['Small', 'Large'] }
        : {
            type: 'string',
            default: 'small',
            oneOf: [
              { const: 'small', title: 'Small' },
              { const: 'large', title: 'Large' },
            ],
          },
      sort: { type: 'string', enum: ['green', 'black'], ...(!old && { default: 'black' }) },
      spoons: { type: 'integer', minimum: 0, maximum: 3, ...(!old && { default: 1 }) },
      // No revision has this format, and strict clients refuse a form with one they do not know.
      name: { type: 'string', minLength: 1 },
      mail: { type: 'string', format: 'email' },
      milk: { type: 'boolean', default: true },
    });
    expect(saidBy(result)).toEqual({ action: 'accept', content: { ...content, milk: true } });
  });

  test('a multiple choice is asked where the revision has it; elsewhere the error says which client it needs', async () => {
    const peer = await connect({ tools: [pick] }, { capabilities: everything });
    const { result, asked } = await callAnswering(peer, 'pick', accept({ toppings: ['a', 'b'] }));
    if (asks === 'forms') {
      expect(asked).toEqual([]);
      expect(result['isError']).toBe(true);
      expect(textOf(result)).toMatch(/2025-11-25 or later/);
    } else expect(saidBy(result)).toEqual({ action: 'accept', content: { toppings: ['a', 'b'] } });
  });

  test.each(['decline', 'cancel'])('a user may also %s', async (action) => {
    const peer = await connect({ tools: [confirm] }, { capabilities: everything });
    const { result } = await callAnswering(peer, 'confirm', () => ({ action }));
    expect(saidBy(result)).toEqual({ action });
    expect(result['isError']).toBe(false);
  });

  test('questions asked at the same time are sent together, each with its own key', async () => {
    const plan = defineTool(
      { name: 'plan', description: 'Asks three at once.' },
      async (_args, { elicit, sample, roots }) => {
        const [when, draft, dirs] = await Promise.all([
          elicit({ key: 'when', message: 'When?', schema: { properties: { day: { type: 'string' } } } }),
          sample({ key: 'draft', messages: [], maxTokens: 5 }),
          roots({ key: 'dirs' }),
        ]);
        return { when, model: draft.model, dirs };
      },
    );
    const peer = await connect({ tools: [plan] }, { capabilities: everything });
    const answers: Record<string, Json> = {
      'elicitation/create': { action: 'accept', content: { day: 'Monday' } },
      'sampling/createMessage': word,
      'roots/list': folders,
    };
    const { result, asked, rounds } = await callAnswering(peer, 'plan', ({ method }) => answers[method]!);
    expect(asked.map(({ method }) => method).toSorted()).toEqual(Object.keys(answers).toSorted());
    expect(saidBy(result)).toEqual({
      when: { action: 'accept', content: { day: 'Monday' } },
      model: 'm-1',
      dirs: folders.roots,
    });
    expect(rounds.map(({ inputRequests }) => Object.keys(inputRequests as Json).toSorted())).toEqual(
      rounds.length > 0 ? [['dirs', 'draft', 'when']] : [],
    );
  });
}, canAskUser);

describeMatrix(({ era, version, connect }) => {
  test('a tool can send the user to a web page', async () => {
    const peer = await connect({ tools: [visit] }, { capabilities: everything });
    const { result, asked } = await callAnswering(peer, 'visit', () => ({ action: 'accept' }));
    expect(asked).toMatchObject([
      {
        method: 'elicitation/create',
        params: { mode: 'url', message: 'Sign in, please.', url: 'https://example.com/sign-in' },
      },
    ]);
    const id = asked[0]!.params!['elicitationId'];
    expect(typeof id).toBe(version === '2025-11-25' ? 'string' : 'undefined');
    expect(saidBy(result)).toEqual({ action: 'accept' });
  });

  test('a client that supports forms alone is not sent to a page', async () => {
    const peer = await connect({ tools: [visit] }, { capabilities: { elicitation: {} } });
    const answer = await peer.request('tools/call', { name: 'visit' });
    if (era === 'legacy') expect(answer!.result['isError']).toBe(true);
    else {
      expect(answer!.error).toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { elicitation: { url: {} } } },
      });
    }
  });
}, canSendToPage);

describeMatrix(
  ({ connect }) => {
    test('a tool can ask the client’s model (sampling)', async () => {
      const peer = await connect({ tools: [think] }, { capabilities: everything });
      const { result, asked } = await callAnswering(peer, 'think', () => word);
      expect(asked).toMatchObject([
        { method: 'sampling/createMessage', params: { messages: [{ role: 'user' }], maxTokens: 10 } },
      ]);
      expect(saidBy(result)).toEqual({ content: word.content, model: 'm-1' });
    });

    test('a tool can ask for the folders the client works in (roots)', async () => {
      const peer = await connect({ tools: [lookAround] }, { capabilities: everything });
      const { result, asked } = await callAnswering(peer, 'look_around', () => folders);
      expect(asked).toMatchObject([{ method: 'roots/list' }]);
      expect(saidBy(result)).toEqual(folders.roots);
    });

    test('prompts and resources can ask questions like tools', async () => {
      const prompt = definePrompt({ name: 'open', description: 'Opens.' }, async (_args, { roots }) => {
        const [folder] = await roots();
        return `Look into ${folder!.uri}.`;
      });
      const resource = defineResource({ uri: 'note://folder', name: 'folder' }, async (_uri, { roots }) => {
        const [folder] = await roots();
        return folder!.uri;
      });
      const peer = await connect({ prompts: [prompt], resources: [resource] }, { capabilities: everything });
      const ask = (method: string, params: Json) => requestAnswering(peer, { method, params }, () => folders);
      expect((await ask('prompts/get', { name: 'open' })).result).toMatchObject({
        messages: [{ role: 'user', content: { type: 'text', text: 'Look into file:///home/ada.' } }],
      });
      expect((await ask('resources/read', { uri: 'note://folder' })).result).toMatchObject({
        contents: [{ uri: 'note://folder', text: 'file:///home/ada' }],
      });
    });

    test('context.client has the client’s capabilities, for tools that can do without them', async () => {
      const either = defineTool({ name: 'either', description: 'Asks if it can.' }, (_args, { client }) =>
        'roots' in client.capabilities ? 'asks' : 'guesses',
      );
      const able = await connect({ tools: [either] }, { capabilities: everything });
      expect((await able.call('either')).content[0]!.text).toBe('asks');
      const unable = await connect({ tools: [either] });
      expect((await unable.call('either')).content[0]!.text).toBe('guesses');
    });
  },
  ({ canBeAsked }) => canBeAsked,
);

/** A tool that asks twice, the second time depending on the first, and counts how often it was run. */
function askingTwice() {
  const runs = { begun: 0, cleanedUp: 0 };
  const tool = defineTool(
    { name: 'order', description: 'Asks twice.' },
    async (_args, { elicit, onCleanup }) => {
      runs.begun++;
      onCleanup(() => runs.cleanedUp++);
      const ask = async (message: string): Promise<unknown> => {
        const answer = await elicit({ message, schema: { properties: { text: { type: 'string' } } } });
        return answer.action === 'accept' ? answer.content.text : 'nothing';
      };
      const dish = await ask('Which dish?');
      return { dish, drink: await ask(`What to drink with ${String(dish)}?`) };
    },
  );
  return { tool, runs };
}
const waiter = ({ params }: Asked): Json => ({
  action: 'accept',
  content: { text: params!['message'] === 'Which dish?' ? 'soup' : 'water' },
});

describeMatrix(
  ({ connect }) => {
    test('each question ends the request, and the handler runs again with every answer so far', async () => {
      const { tool, runs } = askingTwice();
      const peer = await connect({ tools: [tool] }, { capabilities: everything });
      const { result, asked, rounds } = await callAnswering(peer, 'order', waiter);
      expect(asked.map(({ params }) => params!['message'])).toEqual([
        'Which dish?',
        'What to drink with soup?',
      ]);
      expect(saidBy(result)).toEqual({ dish: 'soup', drink: 'water' });
      expect(runs).toEqual({ begun: 3, cleanedUp: 3 });
      const [first, second] = rounds.map(({ requestState }) => requestState);
      expect(first).toMatch(/^\S{40,}$/);
      expect(second).toMatch(/^\S{40,}$/);
      expect(second).not.toBe(first);
      expect(rounds[0]).not.toHaveProperty('content');
      expect(rounds[0]).not.toHaveProperty('ttlMs');
    });

    test.each<[string, Json | undefined]>([
      ['of another kind', { roots: [] }],
      ['that breaks the form', { action: 'accept', content: { ok: 'yes' } }],
      ['without what the form requires', { action: 'accept', content: {} }],
      ['with an action that never was', { action: 'maybe' }],
      ['that is missing', undefined],
    ])('an answer %s is not accepted, and the question is asked again', async (_what, bad) => {
      const peer = await connect({ tools: [confirm] }, { capabilities: everything });
      const ask = (more: Json = {}): Promise<Json> =>
        peer.result('tools/call', { name: 'confirm', arguments: {}, ...more });
      const { inputRequests, requestState } = await ask();
      const [key] = Object.keys(inputRequests as Json);
      const again = await ask({ inputResponses: bad ? { [key!]: bad } : {}, requestState });
      expect(again).toMatchObject({ resultType: 'input_required', inputRequests });
      const answered = { inputResponses: { [key!]: { action: 'accept', content: { ok: true } } } };
      const result = await ask({ ...answered, requestState: again['requestState'] });
      expect(saidBy(result)).toEqual({ ok: true });
    });

    test('answers to questions that were not asked are ignored', async () => {
      const peer = await connect({ tools: [confirm] }, { capabilities: everything });
      const result = await peer.call('confirm', {}, {});
      expect(result).toMatchObject({ resultType: 'input_required' });
      const { requestState } = result;
      const inputResponses = { 'question-1': { action: 'decline' }, other: { action: 'accept' } };
      const params = { name: 'confirm', arguments: {}, inputResponses, requestState };
      expect(saidBy(await peer.result('tools/call', params))).toEqual({ action: 'decline' });
    });

    test.each<[string, Json]>([
      ['inputResponses that are a list', { inputResponses: [] }],
      ['a requestState that is no text', { requestState: 7 }],
      ['a requestState that was made up', { requestState: 'made.up' }],
    ])('%s is a protocol error', async (_what, more) => {
      const peer = await connect({ tools: [confirm] }, { capabilities: everything });
      const error = await peer.error('tools/call', { name: 'confirm', arguments: {}, ...more });
      expect(error).toMatchObject({ code: -32602 });
    });
  },
  ({ era }) => era === 'modern',
);

describeMatrix(
  ({ connect }) => {
    test('each question is sent on the stream of its call, and the handler waits for the answer', async () => {
      const { tool, runs } = askingTwice();
      const peer = await connect({ tools: [tool] }, { capabilities: everything });
      const { result, asked } = await callAnswering(peer, 'order', waiter);
      expect(asked.map(({ params }) => params!['message'])).toEqual([
        'Which dish?',
        'What to drink with soup?',
      ]);
      expect(saidBy(result)).toEqual({ dish: 'soup', drink: 'water' });
      expect(runs).toEqual({ begun: 1, cleanedUp: 1 });
    });
  },
  (cell) => cell.hasSession && canAskUser(cell),
);
