import { expect, test } from 'vitest';
import { isLoopback, isLoopbackAuthority } from './loopback.ts';

test.each(['localhost', '127.0.0.1', '::1', '[::1]'])('%s is this machine', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['localhost', '127.0.0.1:8484', '[::1]:80'])(
  '%s is this machine, in a Host header',
  (authority) => {
    expect(isLoopbackAuthority(authority)).toBe(true);
  },
);

test.each([
  '',
  '0.0.0.0',
  '127.0.0.1.example.com',
  'localhost.example.com',
  'evil-localhost',
  'localhost:80:80',
  'localhost\n',
  '::1:80',
])('%j is not', (host) => {
  expect([isLoopback(host), isLoopbackAuthority(host)]).toEqual([false, false]);
});
