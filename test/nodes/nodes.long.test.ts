import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { nodeBinary, triedNodes } from './node-binary.ts';

const root = join(import.meta.dirname, '../..');
// The quick tests take about three minutes on two cores of their own.
const RUN_MS = 600_000;

test.each(triedNodes)(
  'all quick tests pass on Node %s',
  async (version) => {
    const binary = nodeBinary(version);
    if (!binary) throw new Error('npm has no such version for this machine, or could not fetch it.');
    const { output, code } = await runQuickTests(binary);
    const [, passed = '0', failed = '0'] = /^(\d+) passed, (\d+) failed/m.exec(output) ?? [];
    console.log([`Node ${version}: ${passed} passed, ${failed} failed`, ...retriedIn(output)].join('\n'));
    expect({ failures: failuresIn(output), failed, code }).toEqual({ failures: [], failed: '0', code: 0 });
    expect(Number(passed)).toBeGreaterThan(10_000);
  },
  RUN_MS + 310_000,
);

/** Runs them under a binary, and everything they start under the same. */
async function runQuickTests(binary: string): Promise<{ output: string; code: number | null }> {
  const { VITEST: _vitest, VITEST_POOL_ID: _pool, VITEST_WORKER_ID: _worker, ...env } = process.env;
  // Versions differ in how fast they are; what fails twice fails for another reason.
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'quick', '--retry', '1'];
  const child = spawn(binary, args, {
    cwd: root,
    env: { ...env, PATH: `${dirname(binary)}:${env['PATH']}`, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that all of it can be ended.
    detached: true,
  });
  const end = (): void => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // It has ended.
    }
  };
  const late = setTimeout(end, RUN_MS);
  onTestFinished(() => {
    clearTimeout(late);
    end();
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await new Promise<number | null>((resolve) => {
    child.once('close', resolve);
  });
  return { output, code };
}

// By name, so that what fails now and then on one version is not taken for sound.
function retriedIn(output: string): readonly string[] {
  return output.split('\n').filter((line) => line.startsWith('passed only when tried again: '));
}

function failuresIn(output: string): readonly string[] {
  return output.split('\n').filter((line) => /^ *(?:×|FAIL |Error:|not run:)/.test(line));
}
