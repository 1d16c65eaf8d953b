import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseJson } from '../base/parse-json.ts';

/** The package.json of this package. */
export interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** The folder of this package: the same way up from its sources and from what is built of them. */
export const packageFolder = fileURLToPath(new URL('../..', import.meta.url));

/** Reads the package.json of this package. */
export function readManifest(): Manifest {
  return parseJson(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as Manifest;
}

/** The version of this package. */
export function packageVersion(): string {
  return readManifest().version;
}
