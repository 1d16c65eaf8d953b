import {
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  type Document,
  type Node,
  type Pair,
  type Scalar,
} from 'yaml';
import { formatPath, type Complaint } from './complaint.ts';

/** The steps from the top of a file to a place in it. */
export type Path = readonly PropertyKey[];

/** A value in the file as it was read, which can be replaced. */
export interface ScalarNode<T = unknown> {
  value: T;
  readonly range?: readonly [start: number, end: number, after: number] | null;
}

/** A string in the file that is a value, not a key. */
export interface TextValue {
  readonly path: Path;
  readonly scalar: ScalarNode<string>;
}

/** What a complaint says about a place in a file. */
export interface About {
  readonly message: string;
  readonly remedy?: string;
  /** The key is wrong, not the value. */
  readonly isKey?: boolean;
  readonly severity?: Complaint['severity'];
  /** The message contains nothing of the value. */
  readonly isFixed?: boolean;
}

const MAX_BYTES = 1_048_576;
const MAX_ALIASES = 100;
const REMEDIES: Readonly<Record<string, readonly [message: string, remedy: string]>> = {
  DUPLICATE_KEY: ['The same key is here twice', 'keep one of the two'],
  MULTIPLE_DOCS: ['A second document begins here', 'keep everything in one, without "---"'],
  NON_STRING_KEY: ['A key must be a plain word', 'quote it, or check the braces around it'],
  TAB_AS_INDENT: ['A tab is used to indent', 'use spaces'],
  RESOURCE_EXHAUSTION: ['The file is nested too deeply', 'check its brackets'],
};

const OPEN_QUOTE = /^Missing closing ["']quote/;

/** A YAML file with the positions of everything in it: plain data only, without tags, and one document. */
export class YamlText {
  readonly #file: string;
  readonly #source: string;
  #tree: Tree | undefined;
  #released: WeakRef<Tree> | undefined;

  constructor(source: string, file: string) {
    this.#file = file;
    this.#source = source;
    this.#tree = parse(source);
  }

  /** Lets go of all but the text; what is asked later is read from it anew, without what was replaced. */
  release(): void {
    if (this.#tree) this.#released = new WeakRef(this.#tree);
    this.#tree = undefined;
  }

  get #parsed(): Tree {
    if (this.#tree) return this.#tree;
    let tree = this.#released?.deref();
    // Several complaints come one after the other.
    if (!tree) this.#released = new WeakRef((tree = parse(this.#source)));
    return tree;
  }

  get #document(): Document.Parsed {
    return this.#parsed.document;
  }

  /** Problems that keep the file from being parsed. */
  problems(): Complaint[] {
    if (this.#source.length > MAX_BYTES)
      return [this.#at(0, `The file is larger than ${MAX_BYTES} bytes`, '')];
    const { errors } = this.#document;
    const repeated = errors.filter(({ code }) => code === 'DUPLICATE_KEY');
    // One syntax error makes everything after it look wrong, so only the first is reported.
    const slip = errors.find(({ code }) => code !== 'DUPLICATE_KEY');
    if (slip) return [this.#syntax(slip)];
    if (repeated.length > 0) return repeated.map((error) => this.#syntax(error));
    return this.#strange(this.#document.contents, []);
  }

  /** Every string that is a value. */
  texts(): TextValue[] {
    return textsIn(this.#document.contents, []);
  }

  /** The content as plain values; throws if aliases expand too far. */
  value(): unknown {
    return this.#document.toJS({ maxAliasCount: MAX_ALIASES });
  }

  /** The value at a path, as written in the file. */
  scalarAt(path: Path): ScalarNode | undefined {
    const node = this.#nodeAt(path);
    return isScalar(node) ? node : undefined;
  }

  /** Complains about a path; a missing value is reported at the place where it should be. */
  complain(path: Path, about: About): Complaint {
    const { message, remedy = '', isKey = false, severity = 'error' } = about;
    const complaint = this.#at(this.#offsetOf(path, isKey), message, remedy);
    return { ...complaint, path: formatPath(path), severity };
  }

  #at(offset: number, message: string, remedy: string): Complaint {
    const { line, col } = this.#parsed.lines.linePos(offset);
    const place = { line: Math.max(line, 1), column: Math.max(col, 1) };
    return { file: this.#file, ...place, path: '', message, remedy, severity: 'error' };
  }

  #syntax(error: {
    readonly code: string;
    readonly message: string;
    readonly pos: [number, number];
  }): Complaint {
    const [offset] = error.pos;
    if (OPEN_QUOTE.test(error.message)) return this.#openQuote(offset);
    const [message, remedy] = REMEDIES[error.code] ?? [error.message, this.#hintAt(offset)];
    return this.#at(offset, message, remedy);
  }

  // An open quote is noticed at the end of the file, which does not say where it began.
  #openQuote(end: number): Complaint {
    const range = this.texts().at(-1)?.scalar.range;
    const start = range?.[1] === end ? range[0] : end;
    return this.#at(start, 'A quote is opened here and never closed', 'close it where the text ends');
  }

  // Inside `{ }` and `[ ]` the braces of an unquoted expansion are read as YAML.
  #hintAt(offset: number): string {
    const start = this.#source.lastIndexOf('\n', offset - 1) + 1;
    const line = this.#source.slice(start).split('\n', 1)[0] ?? '';
    return /[{[,][^"']*\$\{/.test(line) ? 'put quotes around "${...}" inside braces and brackets' : '';
  }

  #strange(node: unknown, path: Path): Complaint[] {
    if (!isNode(node)) return [];
    const offset = node.range?.[0] ?? 0;
    if (isAlias(node)) {
      if (node.resolve(this.#document)) return [];
      return [
        {
          ...this.#at(offset, `stands for the anchor "${node.source}", which is not set above`, ''),
          path: formatPath(path),
        },
      ];
    }
    if (node.tag !== undefined)
      return [
        {
          ...this.#at(offset, 'has a tag', 'leave out the word that begins with "!"'),
          path: formatPath(path),
        },
      ];
    return childrenOf(node).flatMap(({ key, child }) =>
      key === '__proto__'
        ? [{ ...this.#at(offset, 'is not a key here', ''), path: formatPath([...path, key]) }]
        : this.#strange(child, [...path, key]),
    );
  }

  #nodeAt(path: Path): Node | undefined {
    let node = this.#resolve(this.#document.contents);
    for (const key of path) {
      const next = childrenOf(node).find((entry) => entry.key === key);
      if (!next) return undefined;
      node = this.#resolve(next.child);
    }
    return node;
  }

  #resolve(node: unknown): Node | undefined {
    if (isAlias(node)) return node.resolve(this.#document);
    return isNode(node) ? node : undefined;
  }

  #offsetOf(path: Path, isKey: boolean): number {
    for (let length = path.length; length > 0; length--) {
      const parent = this.#nodeAt(path.slice(0, length - 1));
      const pair = pairOf(parent, path[length - 1]);
      const isWhole = length === path.length;
      const node = (isWhole && isKey) || !isWhole ? (pair?.key ?? pair?.value) : pair?.value;
      const range = isNode(node) ? node.range : isNode(pair?.key) ? pair.key.range : undefined;
      if (range) return range[0];
    }
    return this.#document.contents?.range[0] ?? 0;
  }
}

/** What a file was parsed into: many times as large as its text. */
interface Tree {
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
}

function parse(source: string): Tree {
  const lines = new LineCounter();
  const document = parseDocument(source.length > MAX_BYTES ? '' : source, {
    lineCounter: lines,
    prettyErrors: false,
    version: '1.2',
    schema: 'core',
    merge: false,
    stringKeys: true,
    uniqueKeys: true,
  });
  return { document, lines };
}

interface Child {
  readonly key: string | number;
  readonly child: unknown;
}

function childrenOf(node: unknown): readonly Child[] {
  if (isSeq(node)) return node.items.map((child, key) => ({ key, child }));
  if (!isMap(node)) return [];
  return node.items.map(({ key, value }) => ({
    key: isScalar(key) ? String(key.value) : String(key),
    child: value,
  }));
}

function pairOf(parent: unknown, key: PropertyKey | undefined): Pick<Pair, 'key' | 'value'> | undefined {
  if (isSeq(parent))
    return typeof key === 'number' ? { key: undefined, value: parent.items[key] } : undefined;
  if (!isMap(parent)) return undefined;
  return parent.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === key);
}

function textsIn(node: unknown, path: Path): TextValue[] {
  if (isScalar(node)) return typeof node.value === 'string' ? [{ path, scalar: node as Scalar<string> }] : [];
  if (!isCollection(node)) return [];
  return childrenOf(node).flatMap(({ key, child }) => textsIn(child, [...path, key]));
}
