import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { isObject } from '../base/json.ts';
import { expand } from './expand.ts';
import type { Path } from './yaml-text.ts';
import { readRegularFile } from './read-regular-file.ts';

/** What cannot be used of an entry: where in it, why, and what to do. */
export interface EntryProblem {
  readonly path: Path;
  readonly message: string;
  readonly remedy?: string;
  readonly isKey?: boolean;
}

/** Where values of an entry come from. */
export interface FillOptions {
  /** The folder that paths are relative to. */
  readonly folder: string;
  /** Whether `${file:PATH}` is filled in; only our own file has it. */
  readonly readsFiles: boolean;
  /** Where variables come from; the environment of this process unless set. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

const MAX_SECRET_BYTES = 65_536;
const MAX_DEPTH = 4;

/** Fills in `${NAME}` and what other clients call it. */
export class Filling {
  readonly secrets: string[] = [];
  readonly problems: EntryProblem[] = [];
  readonly #options: FillOptions;

  constructor(options: FillOptions) {
    this.#options = options;
  }

  /** A value with every text in it filled in. */
  value(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return this.text(value, path);
    if (path.length > MAX_DEPTH) return value;
    if (Array.isArray(value)) return value.map((item, at) => this.value(item, [...path, at]));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, this.value(item, [...path, key])]),
    );
  }

  /** The value of a variable. */
  variable(name: string, path: Path): string {
    return this.text(`\${${name}}`, path);
  }

  /** A text with its `${...}` filled in. */
  text(text: string, path: Path): string {
    const asked = /\$\{(?:input|command):([^}]*)\}/.exec(text);
    if (asked) {
      const message = `asks for ${asked[0]}, which only an editor can`;
      this.problems.push({ path, message, remedy: 'use ${NAME} of the environment' });
      return '';
    }
    const { env = process.env } = this.#options;
    const sources = { env, readSecret: (file: string) => this.#readFile(file) };
    const { text: filled, secrets, problems } = expand(this.#usual(text), sources);
    this.secrets.push(...secrets);
    this.problems.push(...problems.map((problem) => ({ ...problem, path })));
    return filled;
  }

  #usual(text: string): string {
    const { folder, env = process.env } = this.#options;
    const home = env['HOME'] ?? homedir();
    return text
      .replaceAll(/\$\{(?:workspaceFolder|workspaceRoot)\}/g, () => folder.replaceAll('${', '$${'))
      .replaceAll('${userHome}', () => home.replaceAll('${', '$${'))
      .replaceAll(
        /\$\{env[:.](\w+)\}|(?<![$\w])\{env:(\w+)\}/g,
        (_, own, other) => `\${${String(own ?? other)}}`,
      );
  }

  #readFile(path: string): string {
    const { folder, readsFiles } = this.#options;
    if (!readsFiles) throw Object.assign(new Error(path), { code: 'only in toolcrib.yaml' });
    return readRegularFile(resolve(folder, path), MAX_SECRET_BYTES).trim();
  }
}
