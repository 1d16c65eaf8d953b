import { expect, test } from 'vitest';
import { isLoopback, isLoopbackAuthority } from './loopback.ts';

test.each(['localhost', '127.0.0.1', '127.8.9.10', '::1', '[::1]'])('%s is a loopback host', (host) => {
  expect(isLoopback(host)).toBe(true);
});

test.each(['localhost', '127.0.0.1:8484', '[::1]:80'])(
  '%s is a loopback host in a Host header',
  (authority) => {
    expect(isLoopbackAuthority(authority)).toBe(true);
  },
);

test.each([
  '',
  '0.0.0.0',
  '127.0.0.1.example.com',
  '127.0.0',
  '127.0.0.1.1',
  'localhost.example.com',
  'evil-localhost',
  'localhost:80:80',
  'localhost\n',
  '::1:80',
])('%j is not a loopback host', (host) => {
  expect([isLoopback(host), isLoopbackAuthority(host)]).toEqual([false, false]);
});
