import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const installed = join(root, 'node_modules');
const { exports, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
};

const SETTINGS = {
  module: 'nodenext',
  target: 'es2023',
  lib: ['es2023'],
  types: ['node'],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true,
};

test("a strict TypeScript project with only the package's own dependencies compiles with every entry point", () => {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-types-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const [{ filename }] = JSON.parse(
    execFileSync('npm', pack, { cwd: root, encoding: 'utf8', stdio: 'pipe' }),
  );
  const own = join(folder, 'node_modules/toolcrib');
  mkdirSync(own, { recursive: true });
  execFileSync('tar', ['xzf', join(folder, String(filename)), '-C', own, '--strip-components=1']);
  // As an installation would: dependencies of the package, and the types of Node.js that every project has.
  for (const name of [...Object.keys(dependencies), '@types/node', 'undici-types']) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true });
    symlinkSync(join(installed, name), join(folder, 'node_modules', name));
  }
  const entries = Object.entries(exports).filter(([, file]) => file.endsWith('.js'));
  const imports = entries.map(([path], at) => `import * as entry${at} from 'toolcrib${path.slice(1)}';`);
  const names = entries.map((_, at) => `entry${at}`).join(', ');
  writeFileSync(join(folder, 'use.ts'), `${imports.join('\n')}\nexport const all = [${names}];\n`);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: SETTINGS, files: ['use.ts'] }),
  );
  expect(complaintsIn(folder)).toBe('');
  // Control: a missing export is reported.
  const first = readdirSync(join(own, 'dist')).find((name) => name.endsWith('.d.ts'));
  writeFileSync(join(own, 'dist', first!), "export type Left = import('jose').JWTPayload;\n");
  expect(complaintsIn(folder)).toContain("'jose'");
}, 120_000);

function complaintsIn(folder: string): string {
  try {
    return execFileSync(process.execPath, [join(installed, 'typescript/bin/tsc'), '-p', folder], {
      encoding: 'utf8',
    });
  } catch (error) {
    return String((error as { stdout: unknown }).stdout);
  }
}
