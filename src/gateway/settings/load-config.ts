import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Scalar } from 'yaml';
import { complaintError, type Complaint } from '../../config/complaint.ts';
import { concealValues, TELLING, expand } from '../../config/expand.ts';
import { configSchema, conflictsIn, type Config } from './config.ts';
import { describeIssue, valueAt, type Finding } from '../../config/describe-issue.ts';
import { fileConflicts } from './file-conflicts.ts';
import { upstreamConflicts } from './upstream-conflicts.ts';
import { YamlText, type About, type Path } from '../../config/yaml-text.ts';

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

/** The files a configuration was read from, with their contents; `undefined` for a file that could not be read. */
export type Sources = ReadonlyMap<string, Buffer | undefined>;

/** The result of reading a file, valid or not. */
export interface Reading {
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
export async function readConfig(file: string, options: LoadOptions = {}): Promise<Reading> {
  let source: Buffer;
  try {
    source = await readFile(file);
  } catch (error) {
    const sources = new Map([[resolve(file), undefined]]);
    return { loaded: undefined, complaints: [unreadable(file, error)], sources };
  }
  return new ConfigText(source, file, options).read();
}

const MAX_SECRET_BYTES = 65_536;

// Compiling a check for one use is not worth it.
const ONCE = { jitless: true };

/** One reading of one file. */
class ConfigText {
  readonly #file: string;
  readonly #folder: string;
  readonly #options: LoadOptions;
  readonly #yaml: YamlText;
  readonly #secrets = new Set<string>();
  readonly #sources: Map<string, Buffer | undefined>;
  /** The values in which something was filled in. */
  readonly #expanded = new Set<unknown>();
  /** Sections that are not needed and for which something is missing. */
  readonly #leftOut = new Set<PropertyKey>();

  constructor(source: Buffer, file: string, options: LoadOptions) {
    this.#file = file;
    this.#folder = dirname(resolve(file));
    this.#options = options;
    this.#sources = new Map([[resolve(file), source]]);
    this.#yaml = new YamlText(source.toString('utf8').replace(/^\uFEFF/, ''), file);
  }

  read(): Reading {
    const unread = this.#yaml.problems();
    if (unread.length > 0) return this.#refused(unread);
    const unset = this.#expand();
    if (unset.length > 0) return this.#refused(unset);
    let value: unknown;
    try {
      value = this.#yaml.value() ?? {};
      for (const section of this.#leftOut) Reflect.deleteProperty(value as object, section);
    } catch {
      const message = 'The aliases of this file expand to too much; write it out.';
      return this.#refused([this.#yaml.complain([], { message })]);
    }
    return this.#check(value);
  }

  #expand(): Complaint[] {
    const { env = process.env } = this.#options;
    const sources = { env, readSecret: (path: string) => this.#readSecret(path) };
    return this.#yaml.texts().flatMap(({ path, scalar }) => {
      if (!scalar.value.includes('${')) return [];
      const { text, secrets, problems } = expand(scalar.value, sources);
      scalar.value = text;
      for (const secret of secrets) this.#secrets.add(secret);
      this.#expanded.add(scalar);
      if (problems.length > 0 && !this.#isNeeded(path)) {
        this.#leftOut.add(path[0]!);
        // Set to null, because an alias in a needed section must not read it as text.
        (scalar as Scalar).value = null;
        return [];
      }
      return problems.map((problem) => this.#yaml.complain(path, problem));
    });
  }

  #isNeeded([section]: Path): boolean {
    const needed: readonly unknown[] | undefined = this.#options.sections;
    return needed === undefined || section === undefined || needed.includes(section);
  }

  #readSecret(path: string): string {
    const file = resolve(this.#folder, path);
    this.#sources.set(file, undefined);
    const bytes = readFileSync(file);
    this.#sources.set(file, bytes);
    if (bytes.length > MAX_SECRET_BYTES) throw Object.assign(new Error('too large'), { code: 'too large' });
    return bytes.toString('utf8').trim();
  }

  #check(value: unknown): Reading {
    const first = configSchema.safeParse(value, ONCE);
    const findings = first.success ? [] : this.#findings(first.error.issues, value);
    const isTyped = findings.filter((finding) => this.#retype(value, finding)).length > 0;
    const checked = isTyped ? configSchema.safeParse(value, ONCE) : first;
    if (checked.success) return this.#finish(checked.data);
    const remaining = isTyped ? this.#findings(checked.error.issues, value) : findings;
    return this.#refused(
      remaining.map((finding) => this.#yaml.complain(finding.path, this.#conceal(finding))),
    );
  }

  #findings(issues: Parameters<typeof describeIssue>[0][], value: unknown): Finding[] {
    return issues.flatMap((issue) => describeIssue(issue, configSchema, value));
  }

  // A variable is always text; if a number or boolean is wanted, it is parsed as one.
  #retype(value: unknown, { path, expected }: Finding): boolean {
    const text = valueAt(value, path);
    if (typeof text !== 'string' || !this.#expanded.has(this.#yaml.scalarAt(path))) return false;
    const typed = retyped(text, expected);
    const parent = valueAt(value, path.slice(0, -1)) as Record<PropertyKey, unknown>;
    if (typed === undefined) return false;
    parent[path.at(-1)!] = typed;
    return true;
  }

  // The text of a check may repeat the given value.
  #conceal(finding: Finding): About {
    return finding.isQuoted && this.#reveals(finding.message) ? UNNAMED : finding;
  }

  // The same for checks made elsewhere, whose text may repeat other settings than the one from outside.
  #cleaned(path: Path, about: About): About {
    const { message, remedy = '' } = about;
    const isExpanded = this.#expanded.has(this.#yaml.scalarAt(path));
    if (!about.isFixed && isExpanded && this.#reveals(message + remedy)) return { ...about, ...UNNAMED };
    const secrets = [...this.#secrets];
    return { ...about, message: concealValues(message, secrets), remedy: concealValues(remedy, secrets) };
  }

  #reveals(text: string): boolean {
    return [...this.#secrets].some((secret) => reveals(text, secret));
  }

  #finish(config: Config): Reading {
    const folder = this.#folder;
    const isWritten = (path: Path): boolean => this.#yaml.scalarAt(path) !== undefined;
    const problems = [
      ...conflictsIn(config),
      ...upstreamConflicts(config),
      ...fileConflicts({ config, folder, sources: this.#sources, isWritten }),
    ]
      .filter(({ path }) => this.#leftOut.size === 0 || this.#isNeeded(path))
      .map((conflict) => this.#yaml.complain(conflict.path, conflict));
    const reading = this.#refused(problems);
    if (problems.some(({ severity }) => severity === 'error')) return reading;
    const loaded: LoadedConfig = {
      config,
      file: this.#file,
      folder,
      secrets: [...this.#secrets],
      problems,
      sources: this.#sources,
      complain: (path, about) => this.#yaml.complain(path, this.#cleaned(path, about)),
    };
    return { ...reading, loaded };
  }

  #refused(complaints: readonly Complaint[]): Reading {
    const inOrder = complaints.toSorted((a, b) => a.line - b.line || a.column - b.column);
    return { loaded: undefined, complaints: inOrder, sources: this.#sources };
  }
}

function retyped(text: string, expected: string | undefined): number | boolean | undefined {
  if (expected === 'boolean' && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true';
  if ((expected === 'number' || expected === 'int') && /^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
  return undefined;
}

const UNNAMED = { message: 'does not accept the value of "${...}" here', remedy: 'check its value' };

// Even a few characters of a secret are too many.
function reveals(message: string, secret: string): boolean {
  const length = Math.min(TELLING, secret.length);
  for (let start = 0; start + length <= secret.length; start++)
    if (message.includes(secret.slice(start, start + length))) return true;
  return false;
}

function unreadable(file: string, error: unknown): Complaint {
  const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
  const [message, remedy] = UNREADABLE[code] ?? [
    `The file cannot be read (${code})`,
    'check its permissions',
  ];
  return { file, line: 0, column: 0, path: '', message, remedy, severity: 'error' };
}

const UNREADABLE: Readonly<Record<string, readonly [message: string, remedy: string]>> = {
  ENOENT: ['There is no such file', 'check the name, or create it'],
  EISDIR: ['This is a folder', 'name the file in it, such as toolcrib.yaml'],
};
