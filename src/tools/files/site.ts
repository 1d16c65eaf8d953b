import type { z } from 'zod';
import type { ResourceBlock } from '../../core/content.ts';
import { extensionOf, parsePath } from './jail-path.ts';
import type { JailPlace } from './jail.ts';
import { JailRefusal } from './jail-refusal.ts';
import type { fileOperationsOptions } from './options.ts';
import type { FileArguments, outputSchema } from './schema.ts';
import type { TenantFolder } from './tenant-folders.ts';

/** The options of the tool with defaults. */
export type FileSettings = z.output<typeof fileOperationsOptions>;

/** Where one call works, and under which rules. */
export interface Site {
  readonly settings: FileSettings;
  readonly root: TenantFolder;
  readonly signal: AbortSignal;
}

/** A failed operation, in words a model can act on. */
export interface Failure {
  readonly error: string;
  readonly message: string;
}

/** The result of an operation. */
export type FileOutcome = z.input<typeof outputSchema> | Failure | Binary;

interface Binary {
  readonly content: readonly ResourceBlock[];
  readonly structuredContent: z.input<typeof outputSchema>;
}

/** One operation of the tool. */
export type FileOperation = (args: FileArguments, site: Site) => Promise<FileOutcome>;

/** The place of a path. */
export function jailPlaceOf(path: string, { root, settings, signal }: Site): JailPlace {
  return { base: root.base, names: [...root.names, ...parsePath(path, settings)], signal };
}

/** The name of a path in results; the root's own name is not shown. */
export function baseNameOf(path: string, { settings }: Site): string {
  return parsePath(path, settings).at(-1) ?? '.';
}

/** The folder of a path, and the name in it; the root has none, so it cannot be changed. */
export function nameIn(path: string, site: Site): { readonly folder: JailPlace; readonly name: string } {
  const name = parsePath(path, site.settings).at(-1);
  if (name === undefined) throw new JailRefusal('invalid');
  const place = jailPlaceOf(path, site);
  return { folder: { ...place, names: place.names.slice(0, -1) }, name };
}

/** Whether files with the extension of this name may be read and written. */
export function isAllowedType(name: string, { extensions }: FileSettings): boolean {
  return extensions.length === 0 || extensions.includes(extensionOf(name));
}
