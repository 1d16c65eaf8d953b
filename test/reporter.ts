import type { SerializedError } from 'vitest';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

/** Ends a run with one line of counts; with TOOLCRIB_REQUIRE=all a test that did not run counts as failed. */
export class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const passed = modules.flatMap((module) => [...module.children.allTests('passed')]);
    const failed = modules.flatMap((module) => [...module.children.allTests('failed')]);
    const notRun = modules.flatMap((module) => [...module.children.allTests('skipped')]);
    // Seen, because a test that fails now and then is right to fail or wrong to be there.
    for (const test of passed.filter((each) => each.diagnostic()?.flaky))
      console.log(`passed only when tried again: ${nameOf(test)}`);
    const broken = unhandled.length + sum(modules.map(errorsOutsideTests));
    if (process.env['TOOLCRIB_REQUIRE'] !== 'all') {
      print(passed.length, failed.length + broken, notRun.length);
      return;
    }
    for (const test of notRun) console.log(`not run: ${nameOf(test)}`);
    if (notRun.length > 0) process.exitCode = 1;
    print(passed.length, failed.length + broken + notRun.length, 0);
  }
}

function print(passed: number, failed: number, notRun: number): void {
  console.log(`${passed} passed, ${failed} failed${notRun > 0 ? `, ${notRun} not run` : ''}`);
}

// A file that does not load, or a hook that throws, fails the run without failing a test.
function errorsOutsideTests(module: TestModule): number {
  const suites = [...module.children.allSuites()];
  return module.errors().length + sum(suites.map((suite) => suite.errors().length));
}

function nameOf(test: TestCase): string {
  return `${test.module.relativeModuleId}: ${test.fullName}`;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
