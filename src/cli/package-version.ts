import { readFileSync } from 'node:fs';
import { parseJson } from '../base/parse-json.ts';

/** What the manifest of this package says of it. */
export interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** Reads the manifest of this package. */
export function readManifest(): Manifest {
  return parseJson(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest;
}

/** This package's version, from its manifest. */
export function packageVersion(): string {
  return readManifest().version;
}
