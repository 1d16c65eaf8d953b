import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Scalar } from 'yaml';
import type { z } from 'zod';
import { aboutFile, type Complaint } from './complaint.ts';
import { describeIssue, valueAt, type IssueFinding } from './describe-issue.ts';
import { concealValues, expand, TELLING } from './expand.ts';
import { YamlText, type About, type Path } from './yaml-text.ts';

/** The files settings were read from, with their contents; `undefined` for a file that could not be read. */
export type Sources = ReadonlyMap<string, Buffer | undefined>;

/** What a file of settings is read with. */
export interface SettingsOptions {
  readonly file: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The sections that are needed, all unless set: any other is left out if a variable or file it needs is missing. */
  readonly sections?: readonly PropertyKey[];
  /** Leaves every `${...}` as it is written. */
  readonly isLiteral?: boolean;
}

/** Settings that are valid, or why they are not, in the order of the file. */
export type CheckedSettings<T> = { readonly data: T } | { readonly complaints: readonly Complaint[] };

const MAX_SECRET_BYTES = 65_536;

// Compiling a check for one use is not worth it.
const ONCE = { jitless: true };

/** One reading of one file in YAML or JSON: its `${...}` are filled in, and every complaint has its place. */
export class SettingsText {
  readonly #folder: string;
  readonly #options: SettingsOptions;
  readonly #yaml: YamlText;
  readonly #secrets = new Set<string>();
  readonly #sources: Map<string, Buffer | undefined>;
  /** Where the values begin in which something was filled in. */
  readonly #expanded = new Set<number>();
  /** Sections that are not needed and for which something is missing. */
  readonly #leftOut = new Set<PropertyKey>();

  constructor(source: Buffer, options: SettingsOptions) {
    const { file } = options;
    this.#folder = dirname(resolve(file));
    this.#options = options;
    this.#sources = new Map([[resolve(file), source]]);
    this.#yaml = new YamlText(source.toString('utf8').replace(/^\uFEFF/, ''), file);
  }

  /** The values from the environment or from files, which must not be shown. */
  get secrets(): readonly string[] {
    return [...this.#secrets];
  }

  /** The file itself and the secret files it names. */
  get sources(): Sources {
    return this.#sources;
  }

  /** Whether a section was left out, because something it needs is missing. */
  get hasLeftOut(): boolean {
    return this.#leftOut.size > 0;
  }

  /** Reads the file by its declaration, which may depend on what it holds. */
  read<T extends z.ZodType>(declaration: T | ((value: unknown) => T)): CheckedSettings<z.output<T>> {
    const unread = this.#yaml.problems();
    if (unread.length > 0) return { complaints: inOrder(unread) };
    const unset = this.#options.isLiteral ? [] : this.#expand();
    if (unset.length > 0) return { complaints: inOrder(unset) };
    let value: unknown;
    try {
      value = this.#yaml.value() ?? {};
      for (const section of this.#leftOut) Reflect.deleteProperty(value as object, section);
    } catch {
      const message = 'The aliases of this file expand to too much; write it out.';
      return { complaints: [this.#yaml.complain([], { message })] };
    }
    return this.#check(typeof declaration === 'function' ? declaration(value) : declaration, value);
  }

  /** Whether a place belongs to a section that is needed. */
  isNeeded([section]: Path): boolean {
    const needed = this.#options.sections;
    return needed === undefined || section === undefined || needed.includes(section);
  }

  /** Lets go of what only reading needed; complaints can still be made. */
  release(): void {
    this.#yaml.release();
  }

  /** Whether the file itself has a value there. */
  isWritten(path: Path): boolean {
    return this.#yaml.scalarAt(path) !== undefined;
  }

  /** Complains about a place; what came from outside is not repeated. */
  complain(path: Path, about: About): Complaint {
    return this.#yaml.complain(path, this.#cleaned(path, about));
  }

  /** The same for words that hold no value. */
  complainPlainly(path: Path, about: About): Complaint {
    return this.#yaml.complain(path, about);
  }

  #expand(): Complaint[] {
    const { env = process.env } = this.#options;
    const sources = { env, readSecret: (path: string) => this.#readSecret(path) };
    return this.#yaml.texts().flatMap(({ path, scalar }) => {
      if (!scalar.value.includes('${')) return [];
      const { text, secrets, problems } = expand(scalar.value, sources);
      scalar.value = text;
      for (const secret of secrets) this.#secrets.add(secret);
      if (scalar.range) this.#expanded.add(scalar.range[0]);
      if (problems.length > 0 && !this.isNeeded(path)) {
        this.#leftOut.add(path[0]!);
        // Set to null, because an alias in a needed section must not read it as text.
        (scalar as Scalar).value = null;
        return [];
      }
      return problems.map((problem) => this.#yaml.complain(path, problem));
    });
  }

  #readSecret(path: string): string {
    const file = resolve(this.#folder, path);
    this.#sources.set(file, undefined);
    const bytes = readFileSync(file);
    this.#sources.set(file, bytes);
    if (bytes.length > MAX_SECRET_BYTES) throw Object.assign(new Error('too large'), { code: 'too large' });
    return bytes.toString('utf8').trim();
  }

  #check<T extends z.ZodType>(schema: T, value: unknown): CheckedSettings<z.output<T>> {
    const findingsOf = (issues: z.core.$ZodIssue[]): IssueFinding[] =>
      issues.flatMap((issue) => describeIssue(issue, schema, value));
    const first = schema.safeParse(value, ONCE);
    const findings = first.success ? [] : findingsOf(first.error.issues);
    const isTyped = findings.filter((finding) => this.#retype(value, finding)).length > 0;
    const checked = isTyped ? schema.safeParse(value, ONCE) : first;
    if (checked.success) return { data: checked.data };
    const remaining = isTyped ? findingsOf(checked.error.issues) : findings;
    const complaints = remaining.map((finding) => this.#yaml.complain(finding.path, this.#conceal(finding)));
    return { complaints: inOrder(complaints) };
  }

  // A variable is always text; if a number or boolean is wanted, it is parsed as one.
  #retype(value: unknown, { path, expected }: IssueFinding): boolean {
    const text = valueAt(value, path);
    if (typeof text !== 'string' || !this.#isExpanded(path)) return false;
    const typed = retyped(text, expected);
    const parent = valueAt(value, path.slice(0, -1)) as Record<PropertyKey, unknown>;
    if (typed === undefined) return false;
    parent[path.at(-1)!] = typed;
    return true;
  }

  #isExpanded(path: Path): boolean {
    const range = this.#yaml.scalarAt(path)?.range;
    return range ? this.#expanded.has(range[0]) : false;
  }

  // The text of a check may repeat the given value.
  #conceal(finding: IssueFinding): About {
    return finding.isQuoted && this.#reveals(finding.message) ? UNNAMED : finding;
  }

  // The same for checks made elsewhere, whose text may repeat other settings than the one from outside.
  #cleaned(path: Path, about: About): About {
    const { message, remedy = '' } = about;
    if (!about.isFixed && this.#isExpanded(path) && this.#reveals(message + remedy))
      return { ...about, ...UNNAMED };
    const secrets = [...this.#secrets];
    return { ...about, message: concealValues(message, secrets), remedy: concealValues(remedy, secrets) };
  }

  #reveals(text: string): boolean {
    return [...this.#secrets].some((secret) => reveals(text, secret));
  }
}

/** Complaints in the order of their places. */
export function inOrder(complaints: readonly Complaint[]): readonly Complaint[] {
  return complaints.toSorted((a, b) => a.line - b.line || a.column - b.column);
}

/** Complains about a file that cannot be read; `usual` is a name such a file has. */
export function unreadable(file: string, error: unknown, usual: string): Complaint {
  const { code = 'unknown reason' } = error as NodeJS.ErrnoException;
  const [message, remedy] = {
    ENOENT: ['There is no such file', 'check the name, or create it'] as const,
    EISDIR: ['This is a folder', `name the file in it, such as ${usual}`] as const,
  }[code] ?? [`The file cannot be read (${code})`, 'check its permissions'];
  return aboutFile(file, { message, remedy });
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
