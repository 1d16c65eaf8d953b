import { ToolcribError } from '../../base/errors.ts';
import { KEY_VARIABLE, shapeFor, type ClientEntry } from '../connect/client-shapes.ts';
import type { ClientFile, ClientName } from '../servers/client-files.ts';

/** How a client reaches this Toolcrib. */
export type Way =
  | { readonly command: string; readonly args: readonly string[]; readonly keyVariable?: string | undefined }
  | { readonly url: string; readonly keyVariable?: string | undefined };

/** The entry for a client; one that cannot reach a server in this way is refused. */
export function entryFor({ name, title }: ClientFile, way: Way): ClientEntry {
  const { keyVariable: variable, ...server } = way;
  if (variable === undefined) return shapeFor(name, server);
  // It passes a variable on under its own name, and the program looks for this one alone.
  if (name === 'codex' && 'command' in server && variable !== KEY_VARIABLE)
    throw new ToolcribError(
      'invalid_setup',
      `${title} passes a variable on under its own name; keep the key in ${KEY_VARIABLE}, and say --key-variable ${KEY_VARIABLE}.`,
    );
  return shapeFor(name, { ...server, key: { text: referenceIn(name, title, variable), variable } });
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
