import { describe, expect, it } from 'vitest';
import { CallerMemory } from './caller-memory.ts';
import type { Caller } from './caller.ts';

const named = (id: string): Caller => ({
  id,
  tenant: { id: 'acme', name: 'Acme', data: {} },
  scopes: [],
  roles: [],
});

describe('CallerMemory', () => {
  it('remembers each caller for itself', () => {
    const memory = new CallerMemory<string>('rights');
    const [ada, bob] = [named('ada'), named('bob')];
    memory.set(ada, 'reads');
    memory.set(bob, 'writes');
    expect([memory.get(ada), memory.get(bob), memory.get(ada)]).toEqual(['reads', 'writes', 'reads']);
  });

  it('tells callers apart by who they are, not by what they are called', () => {
    const memory = new CallerMemory<string>('rights');
    memory.set(named('ada'), 'reads');
    expect(memory.get(named('ada'))).toBeUndefined();
  });

  it('keeps topics apart', () => {
    const ada = named('ada');
    const [rights, rows] = [new CallerMemory<string>('rights'), new CallerMemory<string>('row')];
    rights.set(ada, 'reads');
    expect(rows.get(ada)).toBeUndefined();
    rows.set(ada, 'text');
    expect([rights.get(ada), rows.get(ada)]).toEqual(['reads', 'text']);
  });

  it('never hands out what another memory remembers', () => {
    const ada = named('ada');
    const [before, after] = [new CallerMemory<string>('rights'), new CallerMemory<string>('rights')];
    before.set(ada, 'everything');
    expect(after.get(ada)).toBeUndefined();
    after.set(ada, 'nothing');
    expect([before.get(ada), after.get(ada)]).toEqual([undefined, 'nothing']);
  });
});
