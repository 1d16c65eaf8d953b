import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Guardian } from '../src/net/processes/guardian.ts';

// Hands two programs to a guardian, the first one while this process has no descriptors left.
const options = { detached: true, stdio: 'ignore' } as const;
const groups = [1, 2].map(() => spawn('/bin/sleep', ['600'], options).pid!);
const guardian = new Guardian();
const held: number[] = [];
try {
  for (;;) held.push(openSync('/dev/null', 'r'));
} catch {
  guardian.add(groups[0]!);
}
await pause(200);
for (const descriptor of held) closeSync(descriptor);
guardian.add(groups[1]!);
await pause(200);
process.stdout.write(`${groups.join(' ')}\n`);
setInterval(() => {}, 1_000);
