import { expect, test } from 'vitest';
import { mayHave, serverFactsOf } from './handshake.ts';

test('what a server says of itself is taken only where it can be read', () => {
  const info = { name: 'notes', version: '1', icons: [] };
  const said = { info, capabilities: { tools: {} }, instructions: 'Be brief.' };
  expect(serverFactsOf('legacy', '2025-11-25', said)).toEqual({
    era: 'legacy',
    protocolVersion: '2025-11-25',
    ...said,
  });
  for (const odd of [undefined, null, 7, 'text', []])
    expect(
      serverFactsOf('modern', '2026-07-28', { info: odd, capabilities: odd, instructions: [odd] }),
    ).toEqual({
      era: 'modern',
      protocolVersion: '2026-07-28',
      info: undefined,
      capabilities: {},
      instructions: undefined,
    });
  expect(serverFactsOf('modern', '2026-07-28', { info: { name: 7 } }).info).toBeUndefined();
});

test('a server has what it declared; one that was not asked may have anything', () => {
  const facts = serverFactsOf('modern', '2026-07-28', { capabilities: { tools: {}, prompts: {} } });
  expect([mayHave(facts, 'tools'), mayHave(facts, 'prompts'), mayHave(facts, 'resources')]).toEqual([
    true,
    true,
    false,
  ]);
  expect(mayHave({ ...facts, isAssumed: true }, 'resources')).toBe(true);
});
