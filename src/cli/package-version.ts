import { readFileSync } from 'node:fs';
import { parseJson } from '../core/parse-json.ts';

/** This package's version, from its manifest. */
export function packageVersion(): string {
  const manifest = parseJson(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return manifest.version;
}
