import { expect, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import { openCrib } from '../gateway.ts';
import { KeyClient } from './key-client.ts';

const region = { type: 'string', 'x-mcp-header': 'Region' };

test.each<[what: string, args: object, header?: string]>([
  ['a mirrored argument under a name that cleaning would complete', { 'reg\u0001ion': 'eu' }],
  ['a prototype under a name that cleaning would complete', { '__pro\u0001to__': { admin: true } }],
  ['such a name deep inside', { list: [{ '__pro\u0000to__': 1 }] }],
  ['a mirrored argument that cleaning would change', { region: 'e\u0001u' }, 'e\u0001u'],
  ['a mirrored argument that is the same once it is cleaned', { region: 'e\u0001u' }, 'eu'],
])('A3 %s does not reach the tool', async (_what, args, header) => {
  const ran: object[] = [];
  const tool = defineTool(
    { name: 'move', description: 'Moves.', input: { properties: { region }, additionalProperties: true } },
    (given) => {
      ran.push(given);
      return 'moved';
    },
  );
  const crib = await openCrib({ offers: [tool] });
  const client = new KeyClient(crib, 'ada');
  const encoded = `=?base64?${Buffer.from(header ?? '').toString('base64')}?=`;
  const request = client.modern('tools/call', { name: 'move', arguments: args });
  const headers = { ...request.headers, ...(header !== undefined && { 'mcp-param-region': encoded }) };
  const { body } = await client.send({ ...request, headers });
  expect(body).toMatch(/Invalid arguments for move: \S+: (?:holds|contains)|disagree/);
  expect(ran).toEqual([]);
});
