import { expect, test } from 'vitest';
import type { Question } from '../../core/question.ts';
import { encodeQuestion } from './question.ts';
import { revisionOf } from '../revisions/revisions.ts';

const schema = { type: 'object', properties: { ok: { type: 'boolean' } } };
const form: Question = { kind: 'form', message: 'Sure?', schema };
const page: Question = { kind: 'url', message: 'Sign in', url: 'https://example.com/' };
const sample: Question = { kind: 'sample', params: { messages: [], maxTokens: 1 } };
const roots: Question = { kind: 'roots' };
const fields = { message: 'Sure?', requestedSchema: schema };

test.each<[version: string, params: object | undefined]>([
  ['2024-11-05', undefined],
  ['2025-03-26', undefined],
  ['2025-06-18', fields],
  ['2025-11-25', { mode: 'form', ...fields }],
  ['2026-07-28', { mode: 'form', ...fields }],
])('on %s a form is requested with %j', (version, params) => {
  expect(encoded(form, version)).toEqual(params && { method: 'elicitation/create', params });
});

test.each<[version: string, exists: boolean]>([
  ['2024-11-05', false],
  ['2025-03-26', false],
  ['2025-06-18', false],
  ['2025-11-25', true],
  ['2026-07-28', true],
])('on %s a question can have a page to visit: %s', (version, exists) => {
  const params = { mode: 'url', message: 'Sign in', url: 'https://example.com/' };
  expect(encoded(page, version)).toEqual(exists ? { method: 'elicitation/create', params } : undefined);
});

test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'])(
  'sampling and roots requests have the same form on %s',
  (version) => {
    expect(encoded(sample, version)).toEqual({
      method: 'sampling/createMessage',
      params: { messages: [], maxTokens: 1 },
    });
    expect(encoded(roots, version)).toEqual({ method: 'roots/list' });
  },
);

test('unknown fields of a question are passed on', () => {
  const extra = { later: { a: 1 }, _meta: { 'acme.com/x': 1 } };
  for (const question of [form, page, roots])
    expect(encoded({ ...question, extra }, '2026-07-28')).toMatchObject({ params: extra });
  expect(encoded({ ...form, extra }, '2025-06-18')).toEqual({
    method: 'elicitation/create',
    params: { ...extra, ...fields },
  });
});

function encoded(question: Question, version: string): unknown {
  return encodeQuestion(question, revisionOf(version)!.features);
}
