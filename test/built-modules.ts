import { dirname, join, relative } from 'node:path';
import type { Plugin } from 'vitest/config';
import { requireFreshBuild } from './store-worker.ts';

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

/** What tools run apart from the server: where its source is named, where that is, and what is built from it. */
const apart = [
  { from: 'src/tools/sql/sqlite.ts', source: './child.ts', built: 'dist/sql-child.js' },
  {
    from: 'src/tools/compute/transform-data.ts',
    source: './transform-worker.ts',
    built: 'dist/transform-worker.js',
  },
] as const;

/** Lets tools run their programs and threads as they are shipped: their sources take four times as long to start. */
export function builtChildren(): Plugin {
  return {
    name: 'built-children',
    enforce: 'pre',
    transform(code, id) {
      const found = apart.find(({ from }) => id === join(root, from));
      if (!found) return undefined;
      const { from, source, built } = found;
      requireFreshBuild(root, built, ['src/base', dirname(from)]);
      if (!code.includes(`'${source}'`)) throw new Error(`${from} does not name ${source}.`);
      return code.replace(
        `'${source}'`,
        JSON.stringify(relative(join(root, dirname(from)), join(root, built))),
      );
    },
  };
}
