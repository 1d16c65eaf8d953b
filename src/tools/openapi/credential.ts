import { foldedHeader } from '../../net/prepare-request.ts';
import { concealSecrets, secretsInHeader, type Conceal } from '../conceal-secrets.ts';
import type { OpenApiSettings } from './options.ts';
import type { OwnNames } from './operation.ts';
import type { Pair } from './values.ts';

/** What this server adds to every request, and how it is kept secret. */
export interface OwnParts {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly query: readonly Pair[];
  /** What callers may not set. */
  readonly names: OwnNames;
  /** Removes secrets from a text: an API may repeat what it was sent. */
  readonly conceal: Conceal;
}

/** Reads the credential and the configured headers. */
export function readOwnParts({ credential, headers }: OpenApiSettings): OwnParts {
  const fixed = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const shown = credential ? shownWith(credential) : {};
  const all = { ...Object.fromEntries(fixed), ...shown.header };
  const secrets = [
    ...(shown.secrets ?? []),
    ...fixed.flatMap(([name, value]) => (SECRET_NAMES.test(name) ? secretsInHeader(value) : [])),
  ];
  return {
    headers: all,
    query: shown.query ? [[encodeURIComponent(shown.query.name), encodeURIComponent(shown.query.value)]] : [],
    names: { headers: new Set(Object.keys(all).map(foldedHeader)), query: shown.query?.name.toLowerCase() },
    conceal: concealSecrets(secrets),
  };
}

interface Shown {
  readonly header?: Readonly<Record<string, string>>;
  readonly query?: { readonly name: string; readonly value: string };
  readonly secrets?: readonly string[];
}

const SECRET_NAMES = /authorization|cookie|key|secret|token|password/;

function shownWith({ bearer, header, query, basic }: NonNullable<OpenApiSettings['credential']>): Shown {
  if (bearer !== undefined) return { header: { authorization: `Bearer ${bearer}` }, secrets: [bearer] };
  if (header) {
    const { name, value } = header;
    return { header: { [name.toLowerCase()]: value }, secrets: secretsInHeader(value) };
  }
  if (query) return { query, secrets: [query.value] };
  if (!basic) return {};
  const encoded = Buffer.from(`${basic.username}:${basic.password}`).toString('base64');
  return { header: { authorization: `Basic ${encoded}` }, secrets: [encoded, basic.password] };
}
