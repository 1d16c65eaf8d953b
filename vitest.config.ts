import { configDefaults, defineConfig } from 'vitest/config';
import { TallyReporter } from './test/reporter.ts';

export default defineConfig({
  // Tools written as classes may use TypeScript's decorators, which JavaScript does not have yet.
  oxc: { decorator: { legacy: true } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, '**/*.browser.test.ts'],
    pool: 'forks',
    // Most of the time is spent waiting: one file at a time would leave half of a small machine idle.
    maxWorkers: 2,
    testTimeout: 20_000,
    reporters: ['default', new TallyReporter()],
  },
});
