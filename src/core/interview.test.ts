import { describe, expect, onTestFinished, test } from 'vitest';
import { checkFormSchema, InputRequired, Interview, readAnswer, type Asker } from './interview.ts';
import type { FormQuestion, Question } from './question.ts';

const roots: Question = { kind: 'roots' };
const page: Question = { kind: 'url', message: 'Sign in', url: 'https://example.com/' };
const form: FormQuestion = {
  kind: 'form',
  message: 'Sure?',
  schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
};
const yes = { action: 'accept', content: { ok: true } };
const folders = { roots: [{ uri: 'file:///a' }] };

describe('when the client cannot be asked while the call runs', () => {
  test('questions of one turn are returned together, each with its position as key', async () => {
    const interview = new Interview();
    await expect(Promise.all([interview.put(form), interview.put(roots)])).rejects.toThrow(InputRequired);
    expect(interview.raised).toEqual(
      new Map<string, Question>([
        ['question-1', form],
        ['question-2', roots],
      ]),
    );
  });

  test('a question has the key that the handler gave it', async () => {
    const interview = new Interview();
    await expect(Promise.all([interview.put(form, 'sure'), interview.put(roots)])).rejects.toThrow();
    expect([...interview.raised!.keys()]).toEqual(['sure', 'question-2']);
  });

  test('a question whose error the handler caught is returned all the same', async () => {
    const interview = new Interview();
    await interview.put(form).catch(() => 'never mind');
    expect(interview.raised?.get('question-1')).toBe(form);
  });

  test('a question that the handler did not await is returned all the same, without an unhandled rejection', async () => {
    const unhandled = watchRejections();
    const interview = new Interview();
    void interview.put(form);
    expect(interview.raised?.get('question-1')).toBe(form);
    await nextTurn();
    expect(unhandled).toEqual([]);
  });

  test('questions asked together and awaited one by one cause no unhandled rejection', async () => {
    const unhandled = watchRejections();
    const interview = new Interview();
    const [first, second] = [interview.put(form), interview.put(roots)];
    await expect((async () => [await first, await second])()).rejects.toThrow(InputRequired);
    await nextTurn();
    expect(unhandled).toEqual([]);
    expect(interview.raised?.size).toBe(2);
  });

  test('finally blocks of the handler run before the call ends', async () => {
    const interview = new Interview();
    const ran: string[] = [];
    const handler = async (): Promise<void> => {
      try {
        await interview.put(form);
        ran.push('answered');
      } finally {
        ran.push('cleaned up');
      }
    };
    await expect(handler()).rejects.toThrow(InputRequired);
    expect(ran).toEqual(['cleaned up']);
  });
});

describe('when the call is repeated with answers', () => {
  test('each answer goes to its question, and is kept for the next run', async () => {
    const given = new Map<string, unknown>([
      ['question-1', yes],
      ['dirs', folders],
      ['nobody-asked', 1],
    ]);
    const interview = new Interview(given);
    expect(await interview.put(form)).toEqual(yes);
    expect(await interview.put(roots, 'dirs')).toEqual(folders.roots);
    await expect(interview.put(page)).rejects.toThrow(InputRequired);
    expect([...interview.raised!.keys()]).toEqual(['question-3']);
    expect([...interview.accepted]).toEqual([
      ['question-1', yes],
      ['dirs', folders],
    ]);
  });

  test('an invalid answer is asked for again', async () => {
    const interview = new Interview(new Map([['question-1', { action: 'accept', content: { ok: 'yes' } }]]));
    await expect(interview.put(form)).rejects.toThrow(InputRequired);
    expect([...interview.raised!.keys()]).toEqual(['question-1']);
    expect(interview.accepted.size).toBe(0);
  });

  test('an answer belongs to one question: a second question with that key is refused', async () => {
    const interview = new Interview(new Map([['sure', yes]]));
    await interview.put(form, 'sure');
    expect(() => void interview.put(form, 'sure')).toThrow('Two questions are called "sure"');
  });

  test('an answer under a key that every object inherits is ignored', async () => {
    const interview = new Interview();
    await expect(interview.put(form, '__proto__')).rejects.toThrow(InputRequired);
  });
});

describe('when the client can be asked while the call runs', () => {
  test('questions of one turn are sent together, and the call continues with the answers', async () => {
    const asked: string[][] = [];
    const interview = new Interview(undefined, {
      ask(questions) {
        asked.push([...questions.keys()]);
        return Promise.resolve(
          new Map<string, unknown>([
            ['question-1', yes],
            ['question-2', folders],
            ['question-3', { action: 'decline' }],
          ]),
        );
      },
    });
    expect(await Promise.all([interview.put(form), interview.put(roots)])).toEqual([yes, folders.roots]);
    expect(await interview.put(page)).toEqual({ action: 'decline' });
    expect(asked).toEqual([['question-1', 'question-2'], ['question-3']]);
    expect(interview.raised).toBeUndefined();
  });

  test.each<[what: string, answers: ReadonlyMap<string, unknown>]>([
    ['another answer', new Map([['question-1', { action: 'perhaps' }]])],
    ['no answer', new Map()],
  ])('%s than was asked for becomes an error for the model', async (_what, answers) => {
    const interview = new Interview(undefined, { ask: () => Promise.resolve(answers) });
    await expect(interview.put(form)).rejects.toMatchObject({ code: 'cannot_ask' });
  });

  test('an error while asking the client reaches every question', async () => {
    const unhandled = watchRejections();
    const gone = new Error('gone');
    const interview = new Interview(undefined, { ask: () => Promise.reject(gone) });
    const [first, second] = [interview.put(form), interview.put(roots)];
    await expect(first).rejects.toBe(gone);
    await nextTurn();
    expect(unhandled).toEqual([]);
    await expect(second).rejects.toBe(gone);
  });

  test('a client that becomes available during a call is asked from then on', async () => {
    const interview = new Interview();
    const ask: Asker['ask'] = () => Promise.resolve(new Map([['question-1', yes]]));
    interview.askThrough({ ask });
    expect(await interview.put(form)).toEqual(yes);
  });
});

describe('keys', () => {
  test.each<[what: string, ask: Asker['ask'] | undefined]>([
    ['that end the run', undefined],
    ['that wait', () => Promise.resolve(new Map([['sure', yes]]))],
  ])('two questions %s may not have the same key', async (_what, ask) => {
    const interview = new Interview(undefined, ask && { ask });
    const first = interview.put(form, 'sure');
    expect(() => void interview.put(roots, 'sure')).toThrow(
      'Two questions are called "sure"; give each its own key.',
    );
    await first.catch(() => {});
  });
});

describe('reading an answer', () => {
  const choice: Question = { kind: 'sample', params: {} };
  const said = { role: 'assistant', model: 'm', content: { type: 'text', text: 'a' } };
  const inParts = { ...said, content: [said.content] };

  test.each<[what: string, question: Question, readings: readonly [raw: unknown, answer: unknown]]>([
    ['an accepted form', form, [yes, yes]],
    ['an accepted form with fields nobody asked for', form, [{ ...yes, x: 1 }, yes]],
    ['a declined form', form, [{ action: 'decline', content: { ok: 1 } }, { action: 'decline' }]],
    ['a cancelled form', form, [{ action: 'cancel' }, { action: 'cancel' }]],
    ['a visited page', page, [{ action: 'accept', content: {} }, { action: 'accept' }]],
    ['a page nobody visits', page, [{ action: 'decline' }, { action: 'decline' }]],
    ['a reply of the model', choice, [said, said]],
    ['a reply in parts', choice, [inParts, inParts]],
    ['folders', roots, [folders, folders.roots]],
    ['no folders', roots, [{ roots: [] }, []]],
  ])('%s is accepted', (_what, question, [raw, answer]) => {
    expect(readAnswer(question, raw)).toEqual(answer);
  });

  test.each<[what: string, question: Question, raw: unknown]>([
    ['text', form, 'accept'],
    ['a list', form, [yes]],
    ['null', roots, null],
    ['an action nobody knows', form, { action: 'perhaps' }],
    ['a form without content', form, { action: 'accept' }],
    ['a form filled in wrongly', form, { action: 'accept', content: { ok: 'yes' } }],
    ['a form filled in with a list', form, { action: 'accept', content: [true] }],
    ['a page without an action', page, {}],
    ['a reply without content', choice, { role: 'assistant', model: 'm' }],
    ['a reply of plain text', choice, { ...said, content: 'a' }],
    ['a reply of nobody', choice, { ...said, role: 'system' }],
    ['a reply of no model', choice, { ...said, model: 7 }],
    ['folders that are none', roots, { roots: ['file:///a'] }],
    ['no list of folders', roots, {}],
  ])('%s is refused', (_what, question, raw) => {
    expect(readAnswer(question, raw)).toBeUndefined();
  });

  test('defaults of a form are filled in, without changing what the client sent', () => {
    const question: Question = {
      ...form,
      schema: { type: 'object', properties: { limit: { type: 'integer', default: 10 } } },
    };
    const raw = { action: 'accept', content: {} };
    expect(readAnswer(question, raw)).toEqual({ action: 'accept', content: { limit: 10 } });
    expect(raw).toEqual({ action: 'accept', content: {} });
  });
});

describe('forms', () => {
  test.each<[what: string, field: object]>([
    ['text', { type: 'string', format: 'email' }],
    ['a number', { type: 'number' }],
    ['a whole number', { type: 'integer' }],
    ['yes or no', { type: 'boolean' }],
    ['a choice', { enum: ['a', 'b'] }],
    ['a choice with titles', { oneOf: [{ const: 'a', title: 'A' }] }],
    ['several choices', { type: 'array', items: { enum: ['a', 'b'] } }],
  ])('may ask for %s', (_what, field) => {
    expect(() => checkFormSchema({ type: 'object', properties: { field } })).not.toThrow();
  });

  test.each<[what: string, field: unknown]>([
    ['an object', { type: 'object', properties: {} }],
    ['anything', {}],
    ['nothing in particular', true],
    ['null', { type: 'null' }],
    ['a list of anything', { type: 'array', items: { type: 'string' } }],
    ['a list of nothing in particular', { type: 'array' }],
  ])('may not ask for %s', (_what, field) => {
    expect(() => checkFormSchema({ type: 'object', properties: { field } })).toThrow('forms are flat');
  });

  test.each<[what: string, schema: Record<string, unknown>]>([
    ['a list', { type: 'array' }],
    ['an object without properties', { type: 'object' }],
  ])('may not be %s', (_what, schema) => {
    expect(() => checkFormSchema(schema)).toThrow('A form needs a schema of type "object"');
  });
});

function watchRejections(): unknown[] {
  const seen: unknown[] = [];
  const others = process.listeners('unhandledRejection');
  const listener = (reason: unknown): number => seen.push(reason);
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', listener);
  onTestFinished(() => {
    process.removeListener('unhandledRejection', listener);
    for (const other of others) process.on('unhandledRejection', other);
  });
  return seen;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
