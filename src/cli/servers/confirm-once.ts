import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ToolcribError } from '../../base/errors.ts';
import { complain } from '../complain.ts';
import { ask, isYes } from '../client/ask.ts';
import { settingsFolder } from './places.ts';

/** The things that a person has agreed to: each kind has a list of digests of its own. */
export type Approved = 'approved-servers' | 'approved-agents' | 'approved-skills';

/** Something a person is asked about once for each content. */
export interface ConsentQuestion {
  readonly kind: Approved;
  /** What would happen. */
  readonly shown: string;
  /** The digest of everything that the outcome depends on. */
  readonly digest: string;
}

/** Shows what would happen and asks whether to continue; without a terminal the answer is no. */
export async function confirmOnce({ kind, shown, digest }: ConsentQuestion): Promise<void> {
  if (await isApproved(kind, digest)) return;
  process.stderr.write(`${shown}\n`);
  const answer = await ask('Go on, now and while it stays the same? [y/N] ');
  if (answer === undefined)
    throw new ToolcribError(
      'invalid_setup',
      'Nobody can be asked whether that is all right; say so with --yes.',
    );
  if (!isYes(answer)) throw new ToolcribError('cancelled', 'Nothing was started.');
  await rememberApproved(kind, digest).catch((error: unknown) => {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
    complain(`The answer cannot be kept (${code}), so you will be asked again.`);
  });
}

/** Whether a person agreed to exactly this before. */
export async function isApproved(kind: Approved, digest: string): Promise<boolean> {
  const text = await readFile(fileOf(kind), 'utf8').catch(() => '');
  return text.split('\n').includes(digest);
}

/** Remembers that a person agreed, for as long as nothing changes. */
export async function rememberApproved(kind: Approved, digest: string): Promise<void> {
  const file = fileOf(kind);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, `${digest}\n`, { flag: 'a', mode: 0o600 });
}

function fileOf(kind: Approved): string {
  return join(settingsFolder(), 'toolcrib', kind);
}
