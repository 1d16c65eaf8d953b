import { expect, test } from 'vitest';
import { expand } from './expand.ts';

const sources = {
  env: { NAME: 'ada', EMPTY: '', DOLLAR: '$&${NAME}' },
  readSecret: (path: string): string => {
    if (path !== '/run/secret')
      throw Object.assign(new Error('no'), { code: path === 'shut' ? 'EACCES' : 'ENOENT' });
    return 'hidden';
  },
};

test.each([
  ['plain', 'plain', []],
  ['$NAME', '$NAME', []],
  ['${NAME}', 'ada', ['ada']],
  ['<${NAME}-${NAME}>', '<ada-ada>', ['ada', 'ada']],
  ['${NAME:-bob}', 'ada', ['ada']],
  ['${MISSING:-bob}', 'bob', []],
  ['${EMPTY:-bob}', 'bob', []],
  ['${MISSING:-}', '', []],
  ['${MISSING:-a:-b}', 'a:-b', []],
  ['$${NAME}', '${NAME}', []],
  ['$$${NAME}', '$${NAME}', []],
  ['${DOLLAR}', '$&${NAME}', ['$&${NAME}']],
  ['${file:/run/secret}', 'hidden', ['hidden']],
])('the text %s expands to %s', (text, expected, secrets) => {
  expect(expand(text, sources)).toEqual({ text: expected, secrets, problems: [] });
});

test.each([
  ['${MISSING}', 'needs the environment variable MISSING, which is not set'],
  ['${EMPTY}', 'needs the environment variable EMPTY, which is empty'],
  ['${}', 'has a "${...}" that holds neither'],
  ['${NAME-x}', 'has a "${...}" that holds neither'],
  ['${NAME', 'has a "${" without its "}"'],
  ['${file:none}', 'needs the file none, which does not exist'],
  ['${file:shut}', 'needs the file shut, which cannot be read (EACCES)'],
])('the text %s is reported as a problem', (text, message) => {
  expect(expand(text, sources).problems).toEqual([
    { message: expect.stringContaining(message), remedy: expect.stringMatching(/\w/) },
  ]);
});
