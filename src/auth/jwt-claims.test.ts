import { expect, test } from 'vitest';
import { readClaims, type ClaimNames, type ClaimPath, type Claims } from './jwt-claims.ts';

const names: ClaimNames = {
  tenant: undefined,
  tenantClaim: 'tenant',
  callerClaim: 'sub',
  rolesClaim: 'roles',
};
const good = { sub: 'ada', tenant: 'north', exp: 1 };

function rolesAt(rolesClaim: ClaimPath, claims: Record<string, unknown>): readonly string[] {
  return (readClaims({ ...good, ...claims }, { ...names, rolesClaim }) as Claims).roles;
}

test.each<[string, ClaimPath, Record<string, unknown>]>([
  ['inside another', 'realm_access.roles', { realm_access: { roles: ['b', 'a'] } }],
  ['deep inside', 'resource_access.tools.roles', { resource_access: { tools: { roles: ['a', 'b'] } } }],
  ['with an address for a name', 'https://acme.example/roles', { 'https://acme.example/roles': ['a', 'b'] }],
  ['with dots in its name, as steps', ['acme.roles'], { 'acme.roles': ['a', 'b'] }],
  [
    'inside one with dots in its name',
    ['x', 'my.client', 'roles'],
    { x: { 'my.client': { roles: ['a', 'b'] } } },
  ],
])('roles are read from a claim %s', (_what, path, claims) => {
  expect(rolesAt(path, claims)).toEqual(['a', 'b']);
});

test.each<[string, Record<string, unknown>]>([
  ['a text where an object should be', { realm_access: 'admin' }],
  ['a list where an object should be', { realm_access: [{ roles: ['admin'] }] }],
  ['nothing', {}],
  ['null', { realm_access: null }],
  ['an object for roles', { realm_access: { roles: { admin: true } } }],
  ['roles that are no texts', { realm_access: { roles: [1, null, ['admin'], { a: 1 }, ''] } }],
  ['a claim whose name is the whole path', { 'realm_access.roles': ['admin'] }],
])('B1 %s gives no roles', (_what, claims) => {
  expect(rolesAt('realm_access.roles', claims)).toEqual([]);
});

test('B1 the path to a claim follows own members only', () => {
  for (const path of ['constructor.name', '__proto__.x', 'sub.length', 'roles.length', 'roles.0'])
    expect(rolesAt(path, { roles: ['admin'] })).toEqual([]);
});

test('B1 the claim of a tenant or a caller must be text', () => {
  const nested = { ...names, tenantClaim: 'org.id', callerClaim: 'user.name' };
  const claims = { exp: 1, org: { id: 'north' }, user: { name: 'ada' } };
  expect(readClaims(claims, nested)).toMatchObject({ tenant: 'north', caller: 'ada' });
  expect(readClaims({ ...claims, org: 'north' }, nested)).toContain('no tenant claim: org.id');
  expect(readClaims({ ...claims, org: { id: ['north'] } }, nested)).toContain('no tenant claim');
  expect(readClaims({ ...claims, user: 'name' }, nested)).toContain('no caller claim: user.name');
});

test('the fixed tenant of an issuer wins over any claim', () => {
  expect(readClaims({ ...good, tenant: 'south' }, { ...names, tenant: 'north' })).toMatchObject({
    tenant: 'north',
  });
});
