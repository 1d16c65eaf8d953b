import { resolve } from 'node:path';
import { ToolcribError } from '../base/errors.ts';
import type { Log } from '../observe/log.ts';
import type { OpenApiImport } from '../tools/openapi/openapi.ts';
import { complaintError } from '../config/complaint.ts';
import type { LoadedConfig } from './settings/load-config.ts';

/** What the tools of OpenAPI descriptions are made with. */
export interface OpenApiToolsParts {
  readonly loaded: LoadedConfig;
  /** Logs what was left out of a description, and why. */
  readonly log: Log;
}

/** The tools of one description, and its place in the configuration. */
export interface OpenApiTools extends OpenApiImport {
  readonly path: readonly (string | number)[];
}

/** Makes the tools of every configured OpenAPI description; without one, nothing is loaded. */
export async function createOpenApiTools({
  loaded,
  log,
}: OpenApiToolsParts): Promise<readonly OpenApiTools[]> {
  const { openapi } = loaded.config.tools;
  const made: OpenApiTools[] = [];
  for (const [index, source] of [openapi].flat().entries()) {
    const { file, ...options } = typeof source === 'string' ? { file: source } : source;
    const path = ['tools', 'openapi', ...(Array.isArray(openapi) ? [index] : [])];
    try {
      const { tools, problems } = await importFile(resolve(loaded.folder, file), options);
      for (const problem of problems) log('warn', `${file}: ${problem}`);
      made.push({ tools, problems, path });
    } catch (error) {
      if (!(error instanceof ToolcribError)) throw error;
      const message = `cannot be used: ${error.message}`;
      throw complaintError([loaded.complain(path, { message, severity: 'error' })]);
    }
  }
  return made;
}

async function importFile(file: string, options: object): Promise<OpenApiImport> {
  const [{ importOpenApi }, { readOpenApiFile }] = await Promise.all([
    import('../tools/openapi/openapi.ts'),
    import('../tools/openapi/file.ts'),
  ]);
  return importOpenApi(await readOpenApiFile(file), options);
}
