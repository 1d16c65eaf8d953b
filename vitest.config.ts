import { configDefaults, defineConfig } from 'vitest/config';
import { TallyReporter } from './test/reporter.ts';

export default defineConfig({
  // Tools written as classes may use TypeScript's decorators, which JavaScript does not have yet.
  oxc: { decorator: { legacy: true } },
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: [...configDefaults.exclude, '**/*.browser.test.ts'],
    pool: 'forks',
    testTimeout: 20_000,
    reporters: ['default', new TallyReporter()],
  },
});
