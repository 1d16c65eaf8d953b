import { ToolcribError } from '../../base/errors.ts';
import type { ClientName } from '../servers/client-files.ts';

/** The environment variable that `toolcrib serve --stdio` reads its key from. */
export const KEY_VARIABLE = 'TOOLCRIB_KEY';

/** A server as in a client's configuration: its address or its command, and the key it needs. */
export type ToldServer = (
  | { readonly url: string }
  | { readonly command: string; readonly args: readonly string[] }
) & { readonly key?: ToldKey | undefined };

/** A key as it is written into the file of a client. */
export interface ToldKey {
  /** The key itself, or the client's way to name the variable that holds it. */
  readonly text: string;
  /** The variable of the client's environment that holds it; `undefined` where the text is the key. */
  readonly variable: string | undefined;
}

/** An entry as a client writes it. */
export type ClientEntry = Readonly<Record<string, unknown>>;

/** The entry for a server in the file of a client; Claude Desktop has none for an address. */
export function shapeFor(name: ClientName, told: ToldServer): ClientEntry {
  return 'url' in told ? urlShape(name, told) : commandShape(name, told);
}

function urlShape(name: ClientName, { url, key }: Extract<ToldServer, { url: string }>): ClientEntry {
  const headers = key && { headers: { Authorization: `Bearer ${key.text}` } };
  switch (name) {
    case 'claude-desktop':
      throw new ToolcribError('invalid_setup', 'Claude Desktop starts programs only; leave --url out.');
    case 'claude-code':
    case 'vscode':
      return { type: 'http', url, ...headers };
    case 'cursor':
    case 'lm-studio':
      return { url, ...headers };
    case 'gemini':
      return { httpUrl: url, ...headers };
    case 'opencode':
      return { type: 'remote', url, enabled: true, ...headers };
    case 'codex':
      return { url, ...(key && { bearer_token_env_var: key.variable ?? KEY_VARIABLE }) };
  }
}

function commandShape(
  name: ClientName,
  { command, args, key }: Extract<ToldServer, { command: string }>,
): ClientEntry {
  const variables = key && { [KEY_VARIABLE]: key.text };
  const env = variables && { env: variables };
  switch (name) {
    case 'claude-desktop':
    case 'cursor':
    case 'lm-studio':
    case 'gemini':
      return { command, args, ...env };
    case 'claude-code':
    case 'vscode':
      return { type: 'stdio', command, args, ...env };
    case 'opencode':
      return {
        type: 'local',
        command: [command, ...args],
        enabled: true,
        ...(variables && { environment: variables }),
      };
    case 'codex':
      return { command, args, ...(key?.variable === undefined ? env : { env_vars: [key.variable] }) };
  }
}
