import type { Caller } from '../../src/core/caller.ts';
import type { ServerOptions } from '../../src/server/options.ts';

const north = { id: 'north', name: 'North', data: {} };
const south = { id: 'south', name: 'South', data: {} };

/** The one whose things are attacked. */
export const ada: Caller = { id: 'ada', tenant: north, scopes: [], roles: [] };

/** A colleague of hers. */
export const bob: Caller = { id: 'bob', tenant: north, scopes: [], roles: [] };

/** A stranger with a name of her own. */
export const cyn: Caller = { id: 'cyn', tenant: south, scopes: [], roles: [] };

/** A stranger of the same name. */
export const otherAda: Caller = { id: 'ada', tenant: south, scopes: [], roles: [] };

/** Everybody who may try. */
export const others: readonly (readonly [who: string, caller: Caller])[] = [
  ['a colleague', bob],
  ['a stranger', cyn],
  ['a stranger of the same name', otherAda],
];

/** The token that signs a caller in. */
export function tokenOf({ id, tenant }: Caller): string {
  return `Bearer ${tenant.id}.${id}`;
}

const known = new Map([ada, bob, cyn, otherAda].map((caller) => [tokenOf(caller), caller]));

/** Signs in a caller by its token. */
export const signsIn: Pick<ServerOptions, 'authenticate'> = {
  authenticate: ({ headers }) => known.get(String(headers['authorization'])),
};
