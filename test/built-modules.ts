import { join, relative } from 'node:path';
import type { Plugin } from 'vitest/config';

const root = join(import.meta.dirname, '..');

/** Gives tests the built file of every public module they import, instead of its source. */
export function builtModules(): Plugin {
  return {
    name: 'built-modules',
    enforce: 'pre',
    resolveId(id, importer) {
      if (!importer || !id.startsWith('.')) return undefined;
      const name = /^src\/([a-z]+)\.ts$/.exec(relative(root, join(importer, '..', id)))?.[1];
      return name === undefined ? undefined : { id: join(root, 'dist', `${name}.js`), external: true };
    },
  };
}
