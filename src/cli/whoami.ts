import { text as readAll } from 'node:stream/consumers';
import type { SignIn } from '../auth/sign-in.ts';
import { systemClock } from '../base/clock.ts';
import { ToolcribError } from '../base/errors.ts';
import type { Caller } from '../core/caller.ts';
import { withStages } from '../core/stage.ts';
import { createAuthentication } from '../gateway/authentication.ts';
import type { LoadedConfig } from '../gateway/settings/load-config.ts';
import { createAccess } from '../stages/access/authorize.ts';
import { openSecrets } from '../store/secrets-file.ts';
import { complain } from './complain.ts';
import { withConfiguredTools } from './collect-tools.ts';
import { loadDeployment, storeFilesOf, storedIdentities, type DeploymentFlags } from './deployment.ts';
import { formatJson, printable } from './table.ts';

/** The flags of `toolcrib whoami`. */
export interface WhoamiFlags extends DeploymentFlags {
  readonly key?: string;
  readonly token?: string;
}

/** `toolcrib whoami`: whose credential this is and what it may use, or why it is refused; nothing is changed. */
export async function whoami(flags: WhoamiFlags): Promise<void> {
  const credential = await credentialIn(flags);
  const loaded = await loadDeployment(flags.config);
  const signIn = await signInOf(loaded);
  try {
    const found = await identify(signIn, credential);
    if (typeof found === 'string') refuse(flags, found);
    else show(flags, { ...describe(found), ...(await reachOf(loaded, found)) });
  } finally {
    signIn.close();
  }
}

async function credentialIn({ key, token }: WhoamiFlags): Promise<string> {
  const given = key ?? token;
  if (given === undefined || (key !== undefined && token !== undefined))
    throw new ToolcribError('invalid_setup', 'whoami takes one credential: --key KEY or --token TOKEN.');
  // A credential in the arguments ends up in the shell's history; "-" keeps it out.
  const credential = given === '-' ? (await readAll(process.stdin)).trim() : given;
  const looksLikeKey = credential.startsWith('tck_');
  if (looksLikeKey === (key !== undefined)) return credential;
  const text = looksLikeKey
    ? 'This is a key; use --key.'
    : 'This is no key, which begins with "tck_"; use --token.';
  throw new ToolcribError('invalid_setup', text);
}

async function signInOf(loaded: LoadedConfig): Promise<SignIn> {
  const places = storeFilesOf(loaded);
  const { pepper, ...secrets } = openSecrets(places.secrets, 'existing');
  const made = await createAuthentication(loaded.config, {
    identities: storedIdentities(places),
    secrets: { pepper, ...secrets },
    clock: systemClock,
    log: () => {},
  });
  if (made) return made.signIn;
  throw new ToolcribError(
    'invalid_setup',
    `${loaded.file} has no auth, so callers are not told apart: everybody on this machine is "local".`,
  );
}

async function identify(signIn: SignIn, credential: string): Promise<Caller | string> {
  const head = { target: '/', headers: { authorization: `Bearer ${credential}` } };
  try {
    return (await signIn.authenticate(head)) ?? (await signIn.explain(head));
  } catch (error) {
    if (error instanceof ToolcribError && error.code === 'insufficient_scope') return error.message;
    throw error;
  }
}

interface Described {
  readonly tenant: string;
  readonly caller: string;
  readonly key?: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
}

interface Reach {
  readonly tools: readonly string[];
  readonly prompts: readonly string[];
  readonly resources: readonly string[];
}

function describe({ tenant, id, roles, scopes, credential }: Caller): Described {
  return {
    tenant: tenant.id,
    caller: id,
    ...(credential !== undefined && { key: credential }),
    roles,
    scopes,
  };
}

async function reachOf(loaded: LoadedConfig, caller: Caller): Promise<Reach> {
  const { byName } = await createAccess(loaded.config.access ?? []);
  return withConfiguredTools(loaded, async ({ registry, problems }) => {
    problems.forEach(complain);
    const { prompts, resources, ...source } = withStages(registry, [byName]);
    return {
      tools: (await source.list(caller)).map(({ name }) => name),
      prompts: ((await prompts?.list(caller)) ?? []).map(({ name }) => name),
      resources: [
        ...((await resources?.list(caller)) ?? []).map(({ uri }) => uri),
        ...((await resources?.templates(caller)) ?? []).map(({ uriTemplate }) => uriTemplate),
      ],
    };
  });
}

function refuse({ json }: WhoamiFlags, reason: string): void {
  if (!json) throw new ToolcribError('unauthenticated', `It is refused: ${reason.replace(/\.$/, '')}.`);
  process.stdout.write(formatJson({ caller: null, reason }, 2));
  process.exitCode = 1;
}

function show({ json }: WhoamiFlags, found: Described & Reach): void {
  if (json) {
    process.stdout.write(formatJson(found, 2));
    return;
  }
  const { caller, tenant, key, ...lists } = found;
  const by = key === undefined ? '' : ` (${key})`;
  const lines = Object.entries(lists).map(
    ([name, items]) => `  ${name.padEnd(9)}  ${items.map(printable).join(', ') || '-'}`,
  );
  process.stdout.write(`${[`This is ${printable(caller)} of ${tenant}${by}.`, ...lines].join('\n')}\n`);
}
