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
  ['password2'],
  ['password_confirmation'],
  ['passwordAgain'],
  ['tokenValue'],
  ['Password for the database'],
  ['Paste your API keys here'],
  ['Your token, please'],
  ['Passwort'],
  ['mot de passe'],
])('a form with the field %s is refused', (field) => {
  expect(() => ask(field)).toThrow(`far asks for ${JSON.stringify(field)} in a form.`);
});

test('a field is known by its title and its format, too', () => {
  expect(() => ask('a', { title: 'Your password' })).toThrow('far asks for "a" in a form.');
  expect(() => ask('a', { format: 'password' })).toThrow('far asks for "a" in a form.');
});

test.each([
  ['max_tokens'],
  ['token_count'],
  ['key'],
  ['secretary'],
  ['keyboard'],
  ['colour'],
  ['password_length'],
  ['name of the API key'],
  ['number of tokens'],
  ['password reset link'],
  ['secret santa'],
  ['sha256'],
])('a form with the field %s is not', (field) => {
  expect(() => ask(field)).not.toThrow();
  expect(() => ask('a', { title: field })).not.toThrow();
});

test('what is ticked or chosen is no secret', () => {
  for (const more of [{ type: 'boolean' }, { enum: ['keep', 'reset'] }, { oneOf: [{ const: 'keep' }] }])
    expect(() => ask('password', more)).not.toThrow();
});
