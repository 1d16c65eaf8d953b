import { readFileSync } from 'node:fs';
import { parseJson } from '../base/parse-json.ts';

/** The package.json of this package. */
export interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** Reads the package.json of this package. */
export function readManifest(): Manifest {
  return parseJson(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest;
}

/** The version of this package. */
export function packageVersion(): string {
  return readManifest().version;
}
