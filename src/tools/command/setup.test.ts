import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkProgram } from './setup.ts';

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-setup-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test.each(['toybox', 'bash-static', 'ksh93', 'lksh', 'yash', 'posh', 'sash', 'nu', 'busybox', 'dash'])(
  'D5 a program named %s counts as a shell',
  (name) => {
    const folder = scratch();
    copyFileSync('/usr/bin/true', join(folder, name));
    copyFileSync('/usr/bin/true', join(folder, `my-${name}`));
    expect(() => checkProgram('go', join(folder, name))).toThrow('commands.go.file is a shell');
    expect(() => checkProgram('go', join(folder, `my-${name}`))).not.toThrow();
  },
);

// One that is known by the list alone, such as tmux.
const listed = linesOf('/etc/shells').find(
  (path) => path.startsWith('/') && existsSync(path) && !realpathSync(path).endsWith('sh'),
);

test.skipIf(listed === undefined)(
  'D5 a program listed in /etc/shells counts as a shell, under any name',
  () => {
    const harmless = join(scratch(), 'harmless');
    symlinkSync(listed!, harmless);
    for (const file of [listed!, harmless])
      expect(() => checkProgram('go', file)).toThrow('commands.go.file is a shell');
  },
);

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [];
}
