import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ToolcribError } from '../../base/errors.ts';
import { ToolRegistry } from '../../core/registry.ts';
import type { ToolSource } from '../../core/source.ts';
import { filePattern, findFiles } from '../../gateway/modules/files.ts';
import { importCheck } from '../../gateway/modules/import-reach.ts';
import { createModuleTools } from '../../gateway/modules/tools.ts';
import { createReadyTools } from '../../gateway/ready-tools.ts';
import type { LoadedConfig } from '../../gateway/settings/load-config.ts';
import type { NameRule } from '../../host/agent-config.ts';
import { filterTools, unmatched } from '../../host/tools/filter-tools.ts';
import { stderrLog } from '../../observe/log.ts';
import { complain } from '../complain.ts';
import { packageVersion } from '../package-version.ts';

/** Tools of a `toolcrib.yaml` that an agent of the same file uses in this process. */
export interface OwnTools {
  readonly source: ToolSource;
  /** Closes what they hold open. */
  close(): Promise<void>;
}

/** The tools of a `toolcrib.yaml` before any of its code has run. */
export interface OwnToolsFile {
  /** The effect of loading them, for the person who is asked. */
  readonly deed: string;
  /** A digest of all code and settings that would run. */
  digest(): Promise<string>;
  load(): Promise<OwnTools>;
}

/** The tools of a `toolcrib.yaml` that a rule grants; nothing is loaded yet. */
export function ownToolsOf(loaded: LoadedConfig, rule: NameRule): OwnToolsFile {
  const { config, folder, file } = loaded;
  const { modules } = config.tools;
  const code = modules.length > 0 ? `, and runs the code in ${modules.join(', ')}` : '';
  return {
    deed: `uses tools of ${file}${code}`,
    async digest() {
      const hash = createHash('sha256').update(JSON.stringify(config.tools));
      for (const pattern of modules)
        for (const one of await findFiles(filePattern(pattern, folder))) hash.update(await readFile(one));
      return hash.digest('base64url');
    },
    load: () => load(loaded, rule),
  };
}

async function load(loaded: LoadedConfig, rule: NameRule): Promise<OwnTools> {
  const { config, folder } = loaded;
  const registry = new ToolRegistry({
    maxNameLength: 128,
    annotationDefaults: config.tools.annotationDefaults,
  });
  const ready = await createReadyTools({
    loaded,
    version: packageVersion(),
    source: registry,
    log: stderrLog,
  });
  try {
    registry.registerTool(...ready.tools);
    const modules = await createModuleTools({
      patterns: config.tools.modules,
      baseDir: folder,
      log: stderrLog,
      registry,
      watch: false,
      checkImports: importCheck(loaded),
    });
    await modules.close();
    for (const { file, reason, severity } of modules.problems) {
      if (severity === 'error')
        throw new ToolcribError('invalid_config', `${file} cannot be used: ${reason}`);
      complain(`${file}: ${reason}`);
    }
    for (const pattern of unmatched(registry.getToolNames(), rule))
      complain(`"${pattern}" matches no tool of ${loaded.file}.`);
    const source = new ToolRegistry({ maxNameLength: 128 });
    source.registerTool(...filterTools(registry.list(), rule));
    return { source, close: () => ready.close() };
  } catch (error) {
    await ready.close();
    throw error;
  }
}
