import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cli } from '../behaviour/child.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
const LIMIT_MS = 60_000;

/** The blocks of the page that are to be run, by the heading they are under. */
const blocks = page.split(/^## /m).map((section) => ({
  heading: section.split('\n', 1)[0]!,
  commands: [...section.matchAll(/```sh\n([^]*?)```/g)].map(([, code = '']) => code).join(''),
}));

function hasTools(...names: readonly string[]): boolean {
  return names.every((name) => spawnSync('which', [name]).status === 0);
}

async function freePort(): Promise<number> {
  const probe = createServer();
  const port = await new Promise<number>((resolve) => {
    probe.listen(0, '127.0.0.1', () => resolve((probe.address() as { port: number }).port));
  });
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

// Stands in for systemd: runs the command of the unit, and stops it with the signal systemd would send.
const SYSTEMCTL = `#!/bin/bash
set -eu
case "$1" in
  daemon-reload) ;;
  start | enable)
    command=$(sed -n 's/^ExecStart=//p' "$WORLD/etc/systemd/system/toolcrib.service")
    mkdir -p -m 700 "$WORLD/var/lib/toolcrib"
    $command >>"$WORLD/log" 2>&1 </dev/null &
    echo $! >"$WORLD/pid"
    ;;
  stop)
    kill -TERM "$(cat "$WORLD/pid")"
    timeout 30 tail --pid="$(cat "$WORLD/pid")" -f /dev/null
    ;;
  *) exit 1 ;;
esac
`;
// What an installation leaves: the command. That the package can be installed is shown by the Dockerfile.
const NPM = `#!/bin/bash
set -eu
echo "npm $*" >>"$WORLD/installed"
bin="$WORLD/opt/toolcrib/node_modules/.bin"
package="$WORLD/opt/toolcrib/node_modules/toolcrib/dist/cli"
mkdir -p "$bin" "$package"
ln -sf ${cli} "$bin/toolcrib"
ln -sf ${cli} "$package/main.js"
`;
const STAND_INS: Readonly<Record<string, string>> = {
  systemctl: SYSTEMCTL,
  npm: NPM,
  useradd: '#!/bin/sh\n',
  sudo: '#!/bin/sh\nshift 2\nexec "$@"\n',
};

/** A folder that stands for a whole machine, and the commands of the page in it. */
async function openWorld() {
  const world = mkdtempSync(join(tmpdir(), 'toolcrib-deploy-'));
  const port = await freePort();
  // The same commands with other places: nothing outside of the folder is touched.
  const moved = (text: string): string =>
    text
      .replaceAll(/(?<=^|[\s'"=:[(])\/(etc|opt|var)\//gm, `${world}/$1/`)
      .replaceAll('/usr/bin/node', process.execPath)
      .replaceAll('8484', String(port))
      .replaceAll(/-o toolcrib -g toolcrib /g, '');
  const put = (path: string, text: string, mode = 0o644): void => {
    mkdirSync(join(world, path, '..'), { recursive: true });
    writeFileSync(join(world, path), text);
    chmodSync(join(world, path), mode);
  };
  for (const [name, text] of Object.entries(STAND_INS)) put(`bin/${name}`, text, 0o755);
  for (const name of ['toolcrib.yaml', 'toolcrib.service'])
    put(`deploy/${name}`, moved(readFileSync(join(root, 'deploy', name), 'utf8')));
  const env = { ...process.env, WORLD: world, PATH: `${world}/bin:${process.env['PATH']}` };
  onTestFinished(() => {
    spawnSync('bash', ['-c', 'kill -KILL "$(cat "$WORLD/pid")"'], { env });
    rmSync(world, { recursive: true, force: true });
  });
  const sh = (commands: string): string => {
    const options = { cwd: world, env, encoding: 'utf8', timeout: LIMIT_MS } as const;
    const run = spawnSync('bash', ['-eu', '-o', 'pipefail', '-c', moved(commands)], options);
    const log = run.status === 0 ? '' : spawnSync('tail', [join(world, 'log')], { encoding: 'utf8' }).stdout;
    expect([run.status, run.status === 0 ? '' : `${run.stderr}${log}`]).toEqual([0, '']);
    return run.stdout;
  };
  const section = (heading: string): string => {
    const { commands } = blocks.find((block) => block.heading === heading)!;
    expect(commands).not.toBe('');
    return sh(commands);
  };
  return { world, sh, section };
}

const COMMAND = '/opt/toolcrib/node_modules/.bin/toolcrib';
const CONFIG = '--config /etc/toolcrib/toolcrib.yaml';

test.skipIf(!hasTools('sqlite3', 'curl', 'install'))(
  'the commands of the deployment page install, back up, upgrade and roll back a server',
  async () => {
    const { world, sh, section } = await openWorld();
    expect(section('A machine with systemd')).toMatch(/^\S+ is good: .*\nready\n[^]*tck_/);

    expect(section('Backup')).toContain('ok\n');
    expect(readdirSync(join(world, 'var/backups/toolcrib'))).toHaveLength(3);

    expect(section('Upgrade')).toContain('ready\n');
    sh(`${COMMAND} tenants create later ${CONFIG}`);
    expect(sh(`${COMMAND} tenants list ${CONFIG}`)).toMatch(/acme[^]*later/);

    expect(section('Rollback')).toMatch(/ready\n[^]*The record is good/);
    const left = sh(`${COMMAND} tenants list ${CONFIG}`);
    expect([left.includes('acme'), left.includes('later')]).toEqual([true, false]);
    expect(readFileSync(join(world, 'installed'), 'utf8').match(/toolcrib-0\.[12]\.0\.tgz/g)).toEqual([
      'toolcrib-0.1.0.tgz',
      'toolcrib-0.2.0.tgz',
      'toolcrib-0.1.0.tgz',
    ]);
    sh('systemctl stop toolcrib');
  },
  LIMIT_MS,
);

test.skipIf(!hasTools('sqlite3', 'curl', 'install'))(
  'control: a rollback that keeps the newer checkpoints does not start',
  async () => {
    const { world, sh, section } = await openWorld();
    section('A machine with systemd');
    section('Backup');
    section('Upgrade');
    sh(`${COMMAND} tenants create later ${CONFIG}`);
    const careless = blocks
      .find(({ heading }) => heading === 'Rollback')!
      .commands.replace(' /var/lib/toolcrib/toolcrib.checkpoints', '');
    const until = careless.split('curl')[0]!;
    sh(until);
    sh('timeout 30 tail --pid="$(cat "$WORLD/pid")" -f /dev/null');
    expect(readFileSync(join(world, 'log'), 'utf8')).toContain('which is not in the database');
  },
  LIMIT_MS,
);
