import { aboutFile } from '../../config/complaint.ts';
import { configSchema } from './config.ts';
import type { LoadedConfig } from './load-config.ts';

/**
 * The configuration without a file: the ready-made tools, for local callers, with the record in memory so that no file
 * is written.
 */
export function defaultConfig(): LoadedConfig {
  const file = 'the defaults';
  return {
    config: configSchema.parse({ store: { url: 'memory:' } }, { jitless: true }),
    file,
    folder: process.cwd(),
    secrets: [],
    problems: [],
    sources: new Map(),
    complain: (path, about) => aboutFile(file, { ...about, path }),
    isDefault: true,
  };
}
