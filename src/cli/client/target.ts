import { ToolcribError } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { ClientOptions } from '../../client/options.ts';
import { concealInComplaints } from '../complain.ts';
import { KEY_VARIABLE } from '../connect/entries.ts';
import { packageVersion } from '../package-version.ts';
import { parseSpan } from '../table.ts';

/** Options of every command that talks to a server. */
export interface ServerFlags {
  readonly header?: readonly string[];
  readonly key?: string;
  readonly env?: readonly string[];
  readonly timeout?: string;
  readonly json?: boolean;
}

/** Where a server is: at an address, or a program to start. */
export type Target =
  | { readonly kind: 'url'; readonly url: string }
  | {
      readonly kind: 'command';
      readonly command: string;
      readonly args: readonly string[];
    };

/** Finds the server that a command line means. */
export function findTarget(name: string | undefined, command: readonly string[]): Target {
  const [program, ...args] = command;
  if (program !== undefined) return { kind: 'command', command: program, args };
  if (name === undefined) throw missing('Say which server: its address, or its command after "--".');
  if (/^https?:\/\//i.test(name)) return { kind: 'url', url: name };
  throw missing(
    `"${name}" is no address: use http:// or https://, or put the command of a server after "--".`,
  );
}

/** Connects to a server with the options of the command line. */
export async function openTarget(
  target: Target,
  flags: ServerFlags,
  options: ClientOptions,
): Promise<Client> {
  const ms = flags.timeout === undefined ? undefined : readTimeout(flags.timeout);
  const shared: ClientOptions = {
    ...options,
    info: { name: 'toolcrib', version: packageVersion() },
    ...(ms !== undefined && { timeouts: { connectMs: ms, listMs: ms, callMs: ms } }),
  };
  if (target.kind === 'command') {
    if (flags.header) throw missing('--header is for servers at an address; use --env NAME=VALUE instead.');
    const { connectStdio } = await import('../../client/stdio/connect-stdio.ts');
    return connectStdio(target.command, target.args, { ...shared, env: environment(flags) });
  }
  if (flags.env) throw missing('--env is for servers that are started; use --header "NAME: VALUE" instead.');
  const { connect } = await import('../../client/connect.ts');
  return connect(target.url, { ...shared, headers: headersOf(flags) });
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
