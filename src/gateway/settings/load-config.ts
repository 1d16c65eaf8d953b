import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { complaintError, type Complaint } from '../../config/complaint.ts';
import { agentConflicts } from './agent-conflicts.ts';
import { configSchema, conflictsIn, type Config } from './config.ts';
import { fileConflicts } from './file-conflicts.ts';
import { upstreamConflicts } from './upstream-conflicts.ts';
import { inOrder, SettingsText, unreadable, type Sources } from '../../config/settings-text.ts';
import type { Path, YamlText } from '../../config/yaml-text.ts';

/** A configuration that was read and is valid. */
export interface LoadedConfig {
  readonly config: Config;
  /** The file as it was named. */
  readonly file: string;
  /** The folder of the file: paths in the configuration are relative to it. */
  readonly folder: string;
  /** Values from the environment or from secret files, which must not be shown. */
  readonly secrets: readonly string[];
  /** Warnings. */
  readonly problems: readonly Complaint[];
  /** The files it was read from; when one changes, the configuration changes. */
  readonly sources: Sources;
  /** There is no file. */
  readonly isDefault?: true;
  /** Complains about a place in the file, for checks that need more than the file. */
  readonly complain: YamlText['complain'];
}

/** Where a configuration takes its variables from. */
export interface LoadOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The sections that are needed, all unless set: any other is left out if a variable or file it needs is missing. */
  readonly sections?: readonly (keyof Config)[];
}

export type { Sources } from '../../config/settings-text.ts';

/** The result of reading a file, valid or not. */
export interface ConfigReading {
  /** Set unless a complaint is an error. */
  readonly loaded: LoadedConfig | undefined;
  readonly complaints: readonly Complaint[];
  /** The file itself and the secret files it names. */
  readonly sources: Sources;
}

/** Reads and checks a configuration file; throws `invalid_config` with every complaint in `data`. */
export async function loadConfig(file: string, options: LoadOptions = {}): Promise<LoadedConfig> {
  const { loaded, complaints } = await readConfig(file, options);
  if (!loaded) throw complaintError(complaints.filter(({ severity }) => severity === 'error'));
  return loaded;
}

/** The same without an exception: the configuration, or why it is not valid. */
export async function readConfig(file: string, options: LoadOptions = {}): Promise<ConfigReading> {
  let source: Buffer;
  try {
    source = await readFile(file);
  } catch (error) {
    const sources = new Map([[resolve(file), undefined]]);
    return { loaded: undefined, complaints: [unreadable(file, error, 'toolcrib.yaml')], sources };
  }
  return new ConfigText(source, file, options).read();
}

/** One reading of one file. */
class ConfigText {
  readonly #file: string;
  readonly #folder: string;
  readonly #text: SettingsText;

  constructor(source: Buffer, file: string, { env, sections }: LoadOptions) {
    this.#file = file;
    this.#folder = dirname(resolve(file));
    this.#text = new SettingsText(source, { file, ...(env && { env }), ...(sections && { sections }) });
  }

  read(): ConfigReading {
    try {
      const checked = this.#text.read(configSchema);
      if ('complaints' in checked) return this.#refused(checked.complaints);
      return this.#finish(withFolders(checked.data, this.#folder));
    } finally {
      // A gateway runs for long, and complains of its file only at the start.
      this.#text.release();
    }
  }

  #finish(config: Config): ConfigReading {
    const [text, folder] = [this.#text, this.#folder];
    const { sources } = text;
    const isWritten = (path: Path): boolean => text.isWritten(path);
    const problems = [
      ...conflictsIn(config),
      ...upstreamConflicts(config.mcpServers ?? {}),
      ...agentConflicts(config),
      ...fileConflicts({ config, folder, sources, isWritten }),
    ]
      .filter(({ path }) => !text.hasLeftOut || text.isNeeded(path))
      .map((conflict) => text.complainPlainly(conflict.path, conflict));
    const reading = this.#refused(inOrder(problems));
    if (problems.some(({ severity }) => severity === 'error')) return reading;
    const loaded: LoadedConfig = {
      config,
      file: this.#file,
      folder,
      secrets: text.secrets,
      problems,
      sources,
      complain: (path, about) => text.complain(path, about),
    };
    return { ...reading, loaded };
  }

  #refused(complaints: readonly Complaint[]): ConfigReading {
    return { loaded: undefined, complaints, sources: this.#text.sources };
  }
}

// Programs run in folders of the file, wherever the server was started.
function withFolders(config: Config, folder: string): Config {
  const { mcpServers = {} } = config;
  const isMoved = Object.values(mcpServers).some((entry) => 'cwd' in entry && !isAbsolute(entry.cwd ?? '/'));
  if (!isMoved) return config;
  const entries = Object.entries(mcpServers).map(([name, entry]) => [
    name,
    'cwd' in entry && entry.cwd !== undefined ? { ...entry, cwd: resolve(folder, entry.cwd) } : entry,
  ]);
  return { ...config, mcpServers: Object.fromEntries(entries) as typeof mcpServers };
}
