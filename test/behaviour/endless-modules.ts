import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Served } from '../served.ts';
import type { Child } from './child.ts';

/** A module with one tool. */
export const good = (name: string): string => `
  import { defineTool } from 'toolcrib';
  export const tool = defineTool({ name: '${name}', description: 'Gets it.' }, () => '${name}');`;
/** A module that says that it is being loaded, and never ends doing so. */
export const endless = `
  console.error('{"message":"it is being loaded"}');
  await new Promise(() => { setInterval(() => {}, 1_000); });
  export const x = 1;`;

/** Adds such a module to a running server, and waits until it is being loaded. */
export async function addEndless({ child, folder }: Served): Promise<void> {
  writeFileSync(join(folder, 'tools/h.ts'), endless);
  await expect.poll(() => timesLoaded(child), { timeout: 10_000 }).toBe(1);
}

/** How often such a module was loaded. */
export function timesLoaded(child: Child): number {
  return child.complaints().split('it is being loaded').length - 1;
}
