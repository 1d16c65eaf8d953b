import { describe, expect, it } from 'vitest';
import { CallerMemory, isNamed, nameCaller } from './caller-memory.ts';
import type { Caller } from './caller.ts';

const named = (id: string): Caller => ({
  id,
  tenant: { id: 'acme', name: 'Acme', data: {} },
  scopes: [],
  roles: [],
});

describe('CallerMemory', () => {
  it('remembers each caller separately', () => {
    const memory = new CallerMemory<string>('rights');
    const [ada, bob] = [named('ada'), named('bob')];
    memory.set(ada, 'reads');
    memory.set(bob, 'writes');
    expect([memory.get(ada), memory.get(bob), memory.get(ada)]).toEqual(['reads', 'writes', 'reads']);
  });

  it('tells callers apart by their object, not by their id', () => {
    const memory = new CallerMemory<string>('rights');
    memory.set(named('ada'), 'reads');
    expect(memory.get(named('ada'))).toBeUndefined();
  });

  it('keeps values of different topics for one caller apart', () => {
    const ada = named('ada');
    const [rights, rows] = [new CallerMemory<string>('rights'), new CallerMemory<string>('row')];
    rights.set(ada, 'reads');
    expect(rows.get(ada)).toBeUndefined();
    rows.set(ada, 'text');
    expect([rights.get(ada), rows.get(ada)]).toEqual(['reads', 'text']);
  });

  it('never returns what another memory remembers', () => {
    const ada = named('ada');
    const [before, after] = [new CallerMemory<string>('rights'), new CallerMemory<string>('rights')];
    before.set(ada, 'everything');
    expect(after.get(ada)).toBeUndefined();
    after.set(ada, 'nothing');
    expect([before.get(ada), after.get(ada)]).toEqual([undefined, 'nothing']);
  });
});

describe('nameCaller', () => {
  it('makes an immutable caller equal to the given one', () => {
    const ada = nameCaller(named('ada'));
    expect(ada).toEqual(named('ada'));
    expect(JSON.stringify(ada)).toBe(JSON.stringify(named('ada')));
    expect(Object.isFrozen(ada)).toBe(true);
    expect('credential' in ada).toBe(false);
    expect(nameCaller({ ...named('ada'), credential: 'key_1' }).credential).toBe('key_1');
  });

  it('gives a copy with other rights none of the values of the original', () => {
    const memory = new CallerMemory<string>('rights');
    const ada = nameCaller(named('ada'));
    memory.set(ada, 'everything');
    const guest = { ...ada, roles: ['guest'] };
    const heir = Object.create(ada, { roles: { value: ['guest'] } }) as Caller;
    expect([memory.get(ada), memory.get(guest), memory.get(heir)]).toEqual([
      'everything',
      undefined,
      undefined,
    ]);
    expect([ada, guest, heir].map(isNamed)).toEqual([true, false, false]);
  });
});
