import { expect, expectTypeOf, test } from 'vitest';
import { createTestCall } from '../testing.ts';
import { attempt, type Attempt } from './attempt.ts';
import { runLocally } from '../core/run-locally.ts';
import { defineTool } from '../core/tool.ts';

class ApiError extends Error {
  readonly code: number;

  constructor(message: string, code: number) {
    super(message);
    this.code = code;
  }
}

class QuotaError extends Error {
  override readonly name = 'QuotaError';
}

test('attempt returns success with the data of a value or a promise (000-30)', async () => {
  expect(await attempt(() => [1, 2], { catch: ApiError })).toEqual({ success: true, data: [1, 2] });
  expect(await attempt(async () => 'page', { catch: ApiError })).toEqual({ success: true, data: 'page' });
  expectTypeOf(attempt(() => 1, { catch: ApiError })).toEqualTypeOf<Promise<Attempt<number>>>();
});

test('an API failure comes back as an error with its message and code (000-30)', async () => {
  const work = (): never => {
    throw new ApiError('The workspace is locked.', 423);
  };
  const told = { success: false, error: 'The workspace is locked.', code: 423 };
  expect(await attempt(work, { catch: ApiError })).toEqual(told);
  expect(await attempt(async () => work(), { catch: ApiError })).toEqual(told);
});

test.each([
  ['its code', Object.assign(new QuotaError('Full.'), { code: 'quota', status: 507 }), 'quota'],
  ['else its status', Object.assign(new QuotaError('Full.'), { status: 507 }), 507],
  ['else the name of its class', new QuotaError('Full.'), 'QuotaError'],
])('the code of a failure is %s (000-30)', async (_what, error, code) => {
  const outcome = await attempt(() => Promise.reject(error), { catch: QuotaError });
  expect(outcome).toEqual({ success: false, error: 'Full.', code });
});

test('returned from a handler, a failure is marked as an error and a success is not (000-30)', async () => {
  const ending = async (error?: Error): Promise<unknown> => {
    const tool = defineTool({ name: 'read', description: 'Reads.' }, () =>
      attempt(() => (error ? Promise.reject(error) : 'text'), { catch: ApiError }),
    );
    return runLocally(createTestCall(tool));
  };
  expect(await ending()).toEqual({ kind: 'done', data: { success: true, data: 'text' } });
  expect(await ending(new ApiError('Gone.', 410))).toEqual({
    kind: 'failed',
    data: { success: false, error: 'Gone.', code: 410 },
  });
});

test('attempt catches the named classes and their subclasses (000-31)', async () => {
  class LateError extends ApiError {}
  const options = { catch: [ApiError, QuotaError] };
  for (const error of [new ApiError('a', 1), new LateError('a', 1), new QuotaError('a')])
    expect(await attempt(() => Promise.reject(error), options)).toMatchObject({ success: false, error: 'a' });
});

test('any other error is rethrown, and its text never reaches the model (000-31)', async () => {
  const accident = new TypeError('connect ECONNREFUSED 10.0.0.5 password=hunter2');
  const work = (): Promise<never> => Promise.reject(accident);
  await expect(attempt(work, { catch: ApiError })).rejects.toBe(accident);

  const tool = defineTool({ name: 'read', description: 'Reads.' }, () => attempt(work, { catch: ApiError }));
  await expect((async () => runLocally(createTestCall(tool)))()).rejects.toMatchObject({
    code: 'tool_failed',
    message: expect.stringMatching(/^read failed unexpectedly \(incident \w+\)\.$/) as string,
  });
});

test('control: catching every class would leak the text (000-31)', async () => {
  const work = (): Promise<never> => Promise.reject(new TypeError('password=hunter2'));
  expect(JSON.stringify(await attempt(work, { catch: Error }))).toContain('hunter2');
});
