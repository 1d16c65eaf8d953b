import { expect, test } from 'vitest';
import { readUpstreamEntry } from '../../config/servers.ts';
import { secretsOf } from './accounts.ts';

test('secrets of an entry are found by their names, and numbers of tokens are none', () => {
  const { read } = readUpstreamEntry('far', {
    url: 'https://far.example/mcp?api_key=in-the-address&max_tokens=4096',
    headers: { 'X-Auth': 'in-a-header', 'X-Token-Limit': '10000', 'X-Token': '12345678' },
  });
  expect(secretsOf(read!)).toEqual(expect.arrayContaining(['in-the-address', 'in-a-header', '12345678']));
  expect(secretsOf(read!)).not.toEqual(expect.arrayContaining(['4096']));
  expect(secretsOf(read!)).not.toEqual(expect.arrayContaining(['10000']));
});
