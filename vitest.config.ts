import { configDefaults, defineConfig } from 'vitest/config';
import { builtChildren, builtModules } from './test/built-modules.ts';
import { LongestFirst } from './test/longest-first.ts';
import { TallyReporter } from './test/reporter.ts';

const LONG = '**/*.long.test.ts';
const TIMING = 'test/security/access-timing.long.test.ts';
const NODES = 'test/nodes/*.long.test.ts';
const NEVER = configDefaults.exclude;

export default defineConfig({
  // Tools written as classes may use TypeScript's decorators, which JavaScript does not have yet.
  oxc: { decorator: { legacy: true } },
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    // A second, which it is otherwise, is little on a busy machine.
    expect: { poll: { timeout: 10_000 } },
    reporters: ['default', new TallyReporter()],
    sequence: { sequencer: LongestFirst },
    // One configuration for both, so that a file can be run by its name alone.
    projects: [
      {
        extends: true,
        plugins: [builtChildren()],
        test: {
          name: 'quick',
          // Tests leave nothing behind, so files can share a process: loading all of it anew would double the time.
          isolate: false,
          // Files wait for processes, disks and clocks for nearly half of their time, which two more can use.
          maxWorkers: 4,
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: [...NEVER, LONG],
        },
      },
      {
        extends: true,
        test: {
          name: 'long',
          include: [LONG],
          exclude: [...NEVER, NODES, TIMING],
          sequence: { groupOrder: 1 },
        },
      },
      // Differences of microseconds show only while nothing else runs.
      {
        extends: true,
        test: { name: 'timing', include: [TIMING], exclude: NEVER, sequence: { groupOrder: 2 } },
      },
      // The quick tests on other versions of Node, after everything else: each run needs the whole machine.
      {
        extends: true,
        test: { name: 'nodes', include: [NODES], exclude: NEVER, sequence: { groupOrder: 3 } },
      },
      // What was built, held to what was written: the same statements of behaviour, about `dist`.
      {
        extends: true,
        plugins: [builtModules()],
        test: {
          name: 'built',
          isolate: false,
          include: ['test/behaviour/**/*.test.ts'],
          exclude: [...NEVER, LONG],
          sequence: { groupOrder: 1 },
          env: { TOOLCRIB_BUILT: 'yes', TOOLCRIB_SCHEMAS: 'official' },
          globalSetup: ['test/official-schemas.ts'],
        },
      },
    ],
  },
});
