import { build } from 'rolldown';

// Loading a hundred small modules is a large part of a server's start (docs/decisions/0006).
await build({
  input: {
    index: 'src/index.ts',
    node: 'src/node.ts',
    tools: 'src/tools.ts',
    testing: 'src/testing.ts',
    'cli/main': 'src/cli/main.ts',
  },
  platform: 'node',
  external: /^[^./]/,
  output: {
    dir: 'dist',
    cleanDir: true,
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'shared/[name].js',
  },
});
