import { existsSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { ToolcribError } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { SignInOptions } from '../../client/sign-in/options.ts';
import type { ClientOptions, HttpOptions } from '../../client/options.ts';
import type { Target, UrlTarget } from '../../config/foreign-entry.ts';
import { environmentProxies } from '../../net/proxies.ts';
import { concealInComplaints } from '../complain.ts';
import { credentialsFolder } from '../servers/places.ts';
import { KEY_VARIABLE } from '../connect/client-shapes.ts';
import { packageVersion } from '../package-version.ts';
import { parseSpan } from '../table.ts';

/** Options of every command that talks to a server. */
export interface ServerFlags {
  readonly header?: readonly string[];
  readonly key?: string;
  readonly env?: readonly string[];
  readonly timeout?: string;
  readonly json?: boolean;
  /** Where the traffic is recorded. */
  readonly record?: string;
  /** Files with certificates: of authorities, and of this client with its key. */
  readonly ca?: string;
  readonly cert?: string;
  readonly certKey?: string;
  /** The only file in which names are looked up. */
  readonly from?: string;
  /** Asks nothing before a server of a project file is started. */
  readonly yes?: boolean;
}

export type { CommandTarget, Target, UrlTarget } from '../../config/foreign-entry.ts';

/** The part of a command line that names a server. */
export interface Meant {
  readonly name: string | undefined;
  /** The command of a local server. */
  readonly command: readonly string[];
  readonly flags: ServerFlags;
}

/** The words after the target; a local server has none. */
export interface SplitTarget {
  readonly meant: Meant;
  readonly rest: readonly string[];
}

/** Cuts the target off the words of a command. */
export function splitTarget(
  words: readonly string[],
  command: readonly string[],
  flags: ServerFlags,
): SplitTarget {
  if (command.length > 0) return { meant: { name: undefined, command, flags }, rest: words };
  return { meant: { name: words[0], command, flags }, rest: words.slice(1) };
}

/** Finds the server that a command line means. */
export async function findTarget({ name, command, flags }: Meant): Promise<Target> {
  const [program, ...args] = command;
  if (program !== undefined) return { kind: 'command', command: program, args };
  if (name === undefined)
    throw missing('Say which server: its address or its name, or its command after "--".');
  if (/^https?:\/\//i.test(name)) return { kind: 'url', url: name };
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(name))
    throw missing(`"${name}" is no address of a server: it must begin with https:// or http://.`);
  const { findServer } = await import('../servers/find.ts');
  return findServer(name, flags);
}

/** The options that a command itself sets for its connection. */
export type OpenOptions = ClientOptions & Pick<HttpOptions, 'authorizer'>;

/** Connects to a server with the options of the command line. */
export async function openTarget(target: Target, flags: ServerFlags, options: OpenOptions): Promise<Client> {
  const ms = flags.timeout === undefined ? undefined : readTimeout(flags.timeout);
  const shared: ClientOptions = {
    ...options,
    info: { name: 'toolcrib', version: packageVersion() },
    ...(target.protocol !== undefined && { protocol: target.protocol }),
    ...(target.timeoutMs !== undefined && { timeouts: { callMs: target.timeoutMs } }),
    ...(ms !== undefined && { timeouts: { connectMs: ms, listMs: ms, callMs: ms } }),
  };
  if (target.kind === 'command') {
    if (flags.header) throw missing('--header is for servers at an address; use --env NAME=VALUE instead.');
    const { connectStdio } = await import('../../client/stdio/connect-stdio.ts');
    const { command, args, folder } = target;
    const env = { ...target.env, ...environment(flags) };
    return connectStdio(command, args, { ...shared, env, ...(folder !== undefined && { folder }) });
  }
  parseWithoutHaste();
  if (flags.env) throw missing('--env is for servers that are started; use --header "NAME: VALUE" instead.');
  const { connect } = await import('../../client/connect.ts');
  const { url, transport } = target;
  const headers = headersFor(target, flags);
  const signedIn = 'authorization' in headers ? undefined : await keptSignIn(url, flags);
  const authorizer = options.authorizer ?? signedIn;
  return connect(url, {
    ...shared,
    headers,
    ...(transport && { transport }),
    ...(authorizer && { authorizer }),
    ...certificates(flags),
    proxies: environmentProxies(process.env),
  });
}

// A command makes a few requests. Compiling the parser of HTTP for speed would cost more than all of them together.
function parseWithoutHaste(): void {
  const major = Number(process.versions.node.split('.')[0]);
  // Engines say so on standard error if they do not know a setting.
  if (major <= NEWEST_KNOWN) setFlagsFromString(`--wasm-tiering-budget=${100 * USUAL_BUDGET}`);
}

const NEWEST_KNOWN = 24;
const USUAL_BUDGET = 1_800_000;

// Without anything kept, nothing of the sign-in is loaded.
async function keptSignIn(url: string, flags: ServerFlags): Promise<HttpOptions['authorizer']> {
  if (!existsSync(credentialsFolder())) return undefined;
  return (await import('./sign-in.ts')).keptAuthorizer(url, networkOf(flags));
}

/** How the authorization server is reached. */
export function networkOf(flags: Pick<ServerFlags, 'ca'>): NonNullable<SignInOptions['network']> {
  return {
    proxies: environmentProxies(process.env),
    ...(flags.ca !== undefined && { ca: readPem(flags.ca) }),
  };
}

/** The certificates that the command line names. */
export function certificates({ ca, cert, certKey }: ServerFlags): Pick<HttpOptions, 'ca' | 'certificate'> {
  if ((cert === undefined) !== (certKey === undefined)) throw missing('--cert and --cert-key go together.');
  return {
    ...(ca !== undefined && { ca: readPem(ca) }),
    ...(cert !== undefined &&
      certKey !== undefined && { certificate: { cert: readPem(cert), key: readPem(certKey) } }),
  };
}

function readPem(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw missing(`${file} cannot be read; name a PEM file.`);
  }
}

/** The headers that are sent to a server: those of its entry, and over them those of the command line. */
export function headersFor({ headers = {} }: UrlTarget, flags: ServerFlags): Record<string, string> {
  return { ...lowerCase(headers), ...headersOf(flags) };
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function headersOf({ header = [], key }: ServerFlags): Record<string, string> {
  const pairs = header.map((text) => {
    const colon = text.indexOf(':');
    const [name, value] = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1).trim()];
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e]*$/.test(value))
      throw missing('--header takes a name and a value, such as "X-Team: north".');
    return [name.toLowerCase(), value] as const;
  });
  if (key !== undefined) pairs.push(['authorization', `Bearer ${key}`]);
  concealInComplaints({ secrets: pairs.map(([, value]) => value) });
  return Object.fromEntries(pairs);
}

function environment({ env = [], key }: ServerFlags): Record<string, string> {
  const pairs = env.map((text) => {
    const [, name, value] = /^([A-Za-z_]\w*)=([^]*)$/.exec(text) ?? [];
    if (name === undefined || value === undefined) throw missing('--env takes NAME=VALUE.');
    return [name, value] as const;
  });
  if (key !== undefined) pairs.push([KEY_VARIABLE, key]);
  concealInComplaints({ secrets: pairs.map(([, value]) => value) });
  return Object.fromEntries(pairs);
}

function readTimeout(text: string): number {
  const ms = parseSpan(/^\d+$/.test(text) ? `${text}s` : text);
  if (ms === undefined) throw missing('--timeout takes a span such as 30s or 5m.');
  return ms;
}

function missing(text: string): ToolcribError {
  return new ToolcribError('invalid_setup', text);
}
