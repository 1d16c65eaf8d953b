import { expect, test } from 'vitest';
import { environmentProxies, proxyFor, type Proxies } from './proxies.ts';

const proxies: Proxies = { https: 'http://secure.example:3128', http: 'plain.example:8080' };

test('an address is reached through the proxy of its scheme, which may be given without a scheme', () => {
  expect(proxyFor(new URL('https://a.example/'), proxies)?.href).toBe('http://secure.example:3128/');
  expect(proxyFor(new URL('http://a.example/'), proxies)?.href).toBe('http://plain.example:8080/');
  expect(proxyFor(new URL('https://a.example/'), { http: 'http://p.example' })).toBeUndefined();
});

test.each([
  'http://localhost:1/',
  'http://api.localhost/',
  'https://127.0.0.1/',
  'https://127.9.9.9/',
  'https://[::1]/',
])('a loopback address (%s) is never reached through a proxy', (url) => {
  expect(proxyFor(new URL(url), proxies)).toBeUndefined();
});

test.each([
  ['*', 'https://a.example/', true],
  ['a.example', 'https://a.example/', true],
  ['A.Example', 'https://a.example/', true],
  ['a.example', 'https://b.a.example/', true],
  ['.a.example', 'https://b.a.example/', true],
  ['*.a.example', 'https://b.a.example/', true],
  ['a.example', 'https://ba.example/', false],
  ['a.example:443', 'https://a.example/', true],
  ['a.example:8443', 'https://a.example/', false],
  ['10.1.2.3', 'http://10.1.2.3/', true],
  ['2.3', 'http://10.1.2.3/', false],
  ['10.0.0.0/8', 'http://10.1.2.3/', true],
  ['10.0.0.0/8', 'http://11.1.2.3/', false],
  ['10.0.0.0/99', 'http://10.1.2.3/', false],
  ['fd00::/8', 'http://[fd00::1]/', true],
  ['[fd00::1]:80', 'http://[fd00::1]/', true],
  [':', 'https://a.example/', false],
])('the exception list %s lets %s be reached directly: %s', (entry, url, isDirect) => {
  expect(proxyFor(new URL(url), { ...proxies, bypass: [entry] }) === undefined).toBe(isDirect);
});

test('proxies are read from the environment in lower or upper case, with lower case first', () => {
  expect(
    environmentProxies({ HTTPS_PROXY: 'http://a', https_proxy: 'http://b', NO_PROXY: 'x, y z' }),
  ).toEqual({
    https: 'http://b',
    bypass: ['x', 'y', 'z'],
  });
  expect(environmentProxies({ HTTP_PROXY: 'http://a', no_proxy: '' })).toEqual({
    http: 'http://a',
    bypass: [],
  });
});

test('a CGI program does not take a proxy from a request header', () => {
  expect(environmentProxies({ HTTP_PROXY: 'http://a', REQUEST_METHOD: 'GET' })).toEqual({ bypass: [] });
});

test.each(['socks5://a.example', 'http://', '::'])(
  '%s is refused as a proxy, without repeating it',
  (https) => {
    expect(() => proxyFor(new URL('https://a.example/'), { https })).toThrow(/^A proxy is named as http:/);
  },
);
