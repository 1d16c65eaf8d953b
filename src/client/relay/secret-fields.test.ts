import { expect, test } from 'vitest';
import { refuseSecretFields } from './secret-fields.ts';

const ask = (field: string, more: object = {}): void => {
  const properties = { user: { type: 'string' }, [field]: { type: 'string', ...more } };
  refuseSecretFields([{ kind: 'form', message: 'x', schema: { type: 'object', properties } }], 'far');
};

test.each([
  ['password'],
  ['newPassword'],
  ['API_KEY'],
  ['github-token'],
  ['clientSecret'],
  ['card number'],
  ['cvv'],
])('a form with the field %s is refused', (field) => {
  expect(() => ask(field)).toThrow(`far asks for ${JSON.stringify(field)} in a form.`);
});

test('a field is known by its title and its format, too', () => {
  expect(() => ask('a', { title: 'Your password' })).toThrow('far asks for "a" in a form.');
  expect(() => ask('a', { format: 'password' })).toThrow('far asks for "a" in a form.');
});

test.each([['max_tokens'], ['token_count'], ['key'], ['secretary'], ['keyboard'], ['colour']])(
  'a form with the field %s is not',
  (field) => {
    expect(() => ask(field)).not.toThrow();
    expect(() => ask('a', { title: field })).not.toThrow();
  },
);
