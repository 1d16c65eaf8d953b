import { z } from 'zod';
import { isLoopback } from '../../base/loopback.ts';

const secureUrl = z
  .string()
  .refine(isSecureUrl, 'must be an https URL; http is taken for this machine alone');

const claim = z.union([
  z.string().refine((path) => path.includes('/') || isPath(path.split('.')), 'must be the name of a claim'),
  z.array(z.string()).refine(isPath, 'must be the steps to a claim'),
]);

/** One authorization server in `auth.jwt`. */
const issuerSection = z.strictObject({
  issuer: secureUrl.describe('Who issues the tokens: exactly what their `iss` says.'),
  audience: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
    .describe('Whom the tokens are for: what their `aud` must name, usually the URL of this endpoint.'),
  jwks: secureUrl
    .exactOptional()
    .describe('Where the keys of the issuer are; its OpenID or OAuth metadata says so unless set.'),
  algorithms: z
    .array(
      z.enum([
        'RS256',
        'RS384',
        'RS512',
        'PS256',
        'PS384',
        'PS512',
        'ES256',
        'ES384',
        'ES512',
        'EdDSA',
        'Ed25519',
      ]),
    )
    .min(1)
    .default(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519'])
    .describe('The signatures taken.'),
  tenant: z
    .string()
    .min(1)
    .exactOptional()
    .describe('The tenant of all tokens of this issuer, where no claim names one.'),
  tenantClaim: claim.exactOptional().describe('The claim that names the tenant; `tenant` unless set.'),
  callerClaim: claim.default('sub').describe('The claim that names the caller.'),
  rolesClaim: claim
    .default('roles')
    .describe('The claim that lists the roles of the caller, such as `roles` or `realm_access.roles`.'),
  requiredScopes: z
    .array(z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, 'must be a scope without spaces'))
    .default([])
    .describe('Scopes that every token must have.'),
  clockToleranceSeconds: z
    .number()
    .min(0)
    .max(300)
    .default(60)
    .describe('How far the clock of the issuer may differ.'),
  typ: z
    .literal('at+jwt')
    .exactOptional()
    .describe('Set it for issuers that mark access tokens: an ID token is then not taken for one.'),
});

/** `auth`: who may call. */
export const authSection = z.strictObject({
  keys: z
    .strictObject({})
    .exactOptional()
    .describe('API keys, made with `toolcrib keys` and kept as digests in the store.'),
  jwt: z
    .union([issuerSection, z.array(issuerSection).min(1)])
    .exactOptional()
    .describe('Tokens of an authorization server, or a list of several.'),
  stdio: z
    .strictObject({
      tenant: z.string().min(1).max(200).default('local').describe('The tenant of the caller.'),
      caller: z.string().min(1).max(200).default('local').describe('The name of the caller.'),
      roles: z.array(z.string().min(1)).default([]).describe('Its roles, for the access rules.'),
      scopes: z.array(z.string().min(1)).default([]).describe('Its scopes.'),
    })
    .exactOptional()
    .describe('The caller of `toolcrib serve --stdio`, where no key says so; without roles unless set.'),
});

/** One authorization server, with every default filled in. */
export type TokenIssuer = z.output<typeof issuerSection>;

/** The authorization servers whose tokens are taken. */
export function issuersOf({ jwt }: z.output<typeof authSection>): readonly TokenIssuer[] {
  if (jwt === undefined) return [];
  return Array.isArray(jwt) ? jwt : [jwt];
}

function isPath(steps: readonly string[]): boolean {
  return steps.length > 0 && steps.every((step) => step !== '');
}

function isSecureUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username || password) return false;
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}
