import { ToolcribError } from '../../base/errors.ts';
import { KEY_VARIABLE } from '../connect/entries.ts';
import type { ClientFile, ClientName } from '../servers/client-files.ts';

/** How a client reaches this Toolcrib. */
export type Way =
  | { readonly command: string; readonly args: readonly string[]; readonly keyVariable?: string | undefined }
  | { readonly url: string; readonly keyVariable?: string | undefined };

/** An entry as a client writes it. */
export type ClientEntry = Readonly<Record<string, unknown>>;

/** The entry for a client; one that cannot reach a server in this way is refused. */
export function entryFor({ name, title }: ClientFile, way: Way): ClientEntry {
  const reference = way.keyVariable === undefined ? undefined : referenceIn(name, title, way.keyVariable);
  if ('url' in way) return urlEntry(name, title, { ...way, reference });
  return commandEntry(name, { ...way, reference });
}

// How each client names a variable of its environment; those that are not here cannot.
const REFERENCES: Partial<Record<ClientName, (variable: string) => string>> = {
  'claude-code': (variable) => `\${${variable}}`,
  cursor: (variable) => `\${env:${variable}}`,
  vscode: (variable) => `\${env:${variable}}`,
  gemini: (variable) => `\${${variable}}`,
  opencode: (variable) => `{env:${variable}}`,
  codex: (variable) => variable,
};

function referenceIn(name: ClientName, title: string, variable: string): string {
  const refer = REFERENCES[name];
  if (refer) return refer(variable);
  throw new ToolcribError(
    'invalid_setup',
    `${title} cannot take a key from its environment; name the caller in auth.stdio, and leave --key-variable out.`,
  );
}

type Referring<W extends Way> = W & { readonly reference: string | undefined };

function urlEntry(
  name: ClientName,
  title: string,
  { url, reference, keyVariable }: Referring<Extract<Way, { url: string }>>,
): ClientEntry {
  const headers = reference !== undefined && { headers: { Authorization: `Bearer ${reference}` } };
  switch (name) {
    case 'claude-desktop':
      throw new ToolcribError('invalid_setup', `${title} starts programs only; leave --url out.`);
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
      return { url, ...(keyVariable !== undefined && { bearer_token_env_var: keyVariable }) };
  }
}

function commandEntry(
  name: ClientName,
  { command, args, reference }: Referring<Extract<Way, { command: string }>>,
): ClientEntry {
  const env = reference !== undefined && { env: { [KEY_VARIABLE]: reference } };
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
        ...(env && { environment: env.env }),
      };
    case 'codex':
      return { command, args, ...(reference !== undefined && { env_vars: [reference] }) };
  }
}
