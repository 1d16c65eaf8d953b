import { namesIn, visitValue, type Fields } from './query-grammar.ts';
import { MAX_SOUGHT, SqlRefusal } from './query-rules.ts';

/**
 * Refuses work that PostgreSQL could not be stopped at: its time grows with the product of two sizes and it never
 * checks for cancellation.
 */
export class LoadCheck {
  /** Parameters that may hold at most `MAX_SOUGHT` characters. */
  readonly shortParameters = new Set<number>();
  #makesArrays = false;
  #makesJson = false;
  #costlySteps = 0;
  #subtracts = false;

  /** Checks one node of a statement. */
  inspect(kind: string, fields: Fields): void {
    switch (kind) {
      case 'FuncCall':
        return this.#call(namesIn(fields['funcname']).at(-1) ?? '', fields['args']);
      case 'A_Expr':
        return this.#operator(fields);
      case 'SubLink':
        return this.#subLink(fields);
      case 'A_ArrayExpr':
        this.#makesArrays = true;
        return;
      case 'TypeName':
        this.#makesArrays ||= fields['arrayBounds'] !== undefined;
        this.#makesJson ||= namesIn(fields['names']).at(-1) === 'jsonb';
    }
  }

  /** Checks what depends on the whole statement. */
  finish(): void {
    // Removing an array of keys from JSON looks like any subtraction, but it needs both an array and JSON.
    if (!this.#subtracts || !this.#makesArrays || !this.#makesJson) return;
    throw new SqlRefusal(
      'Operator not allowed',
      'What is subtracted in a query that makes arrays and JSON must be a number, a cast or a call: write a - b::numeric.',
    );
  }

  // Numbers can have a hundred thousand digits, and cancellation is not checked between two steps of one row.
  #count(name: string): void {
    if (!COSTLY.has(name) || ++this.#costlySteps <= MAX_COSTLY) return;
    throw new SqlRefusal(
      'Query too complex',
      `A query can hold ${MAX_COSTLY} multiplications, divisions and powers: split it up.`,
    );
  }

  #call(name: string, list: unknown): void {
    this.#count(name);
    const args = nodesIn(list);
    this.#makesArrays ||= name.startsWith('array_') || name.startsWith('regexp_');
    this.#makesJson ||= name.startsWith('jsonb_') || name === 'to_jsonb';
    const sought = SOUGHT[name];
    if (sought && args[1]) this.#requireShort(args[1], { ...sought, what: `what ${name} is given` });
    if (!TEXT_SEARCH.has(name)) return;
    if (args.length > 1 && !LANGUAGES.has(textOf(args[0]) ?? ''))
      throw new SqlRefusal(
        'Function not allowed',
        `The first of two arguments of ${name} must be a language written out, such as 'english' or 'simple'.`,
      );
    const words = args.at(-1);
    if (words && name !== 'to_tsvector')
      this.#requireShort(words, { max: MAX_TEXT, what: 'what is searched for' });
  }

  #operator(fields: Fields): void {
    const { kind, lexpr, rexpr } = fields;
    if (!OPERATOR_KINDS.has(kind)) return;
    const name = namesIn(fields['name']).at(-1) ?? '';
    const [left, right] = [nodesIn(lexpr)[0], nodesIn(rexpr)[0]];
    this.#count(name);
    if (PATTERNS.has(name)) return this.#requireShort(right, { max: MAX_TEXT, what: 'a pattern of LIKE' });
    if (name === '@@') return refuseUnless(isTextSearch(left) || isTextSearch(right), name, MATCH_HINT);
    if (name === '?|' || name === '?&') return refuseUnless(this.#isShort(right), name, VALUE_HINT);
    if (CONTAINMENT.has(name))
      return refuseUnless(this.#isShort(right) || this.#isShort(left), name, VALUE_HINT);
    refuseUnless(OPERATORS.has(name), name, 'Use comparison, arithmetic, ||, LIKE, ~ or the arrows of JSON.');
    this.#subtracts ||= name === '-' && left !== undefined && !isPlain(right) && !isPlainCall(left);
  }

  #subLink(fields: Fields): void {
    this.#makesArrays ||= fields['subLinkType'] === 'ARRAY_SUBLINK';
    const name = namesIn(fields['operName']).at(-1) ?? '=';
    refuseUnless(
      COMPARISONS.has(name),
      name,
      'Before ANY and ALL of a query there can be a comparison only.',
    );
  }

  #requireShort(
    node: Node | undefined,
    { max, what }: { readonly max: number; readonly what: string },
  ): void {
    const length = this.#textLength(node);
    if (length !== undefined && length <= max) return;
    const parameter = max < MAX_SOUGHT ? '' : ` or parameters of at most ${MAX_SOUGHT}`;
    throw new SqlRefusal(
      'Query not allowed',
      `${what[0]?.toUpperCase()}${what.slice(1)} must be text written out, of at most ${max} characters${parameter}. To compare with a column, use = or starts_with.`,
    );
  }

  #isShort(node: Node | undefined): boolean {
    const length = this.#valueLength(node);
    return length !== undefined && length <= MAX_TEXT;
  }

  // The greatest length of a text made only of literals and parameters; `undefined` for everything else.
  #textLength(node: Node | undefined): number | undefined {
    if (!node) return undefined;
    const { kind, fields } = node;
    switch (kind) {
      case 'A_Const':
        // A number with an exponent is short as written, but not as text.
        return fields['fval'] === undefined ? literalLength(node) : undefined;
      case 'ParamRef':
        this.shortParameters.add(Number(fields['number'] ?? 0));
        return MAX_SOUGHT;
      case 'TypeCast':
        return isTextType(fields['typeName'] as Fields)
          ? this.#textLength(nodesIn(fields['arg'])[0])
          : undefined;
      case 'A_ArrayExpr':
        return this.#sum(nodesIn(fields['elements']), (part) => this.#textLength(part));
      case 'A_Expr':
        if (namesIn(fields['name']).at(-1) !== '||' || fields['kind'] !== 'AEXPR_OP') return undefined;
        return this.#sum(nodesIn([fields['lexpr'], fields['rexpr']]), (part) => this.#textLength(part));
      case 'FuncCall':
        if (!KEEPS_LENGTH.has(namesIn(fields['funcname']).at(-1) ?? '')) return undefined;
        return this.#sum(nodesIn(fields['args']), (part) => this.#textLength(part));
      default:
        return undefined;
    }
  }

  // The same for values of any type, which are not converted to text.
  #valueLength(node: Node | undefined): number | undefined {
    if (!node) return undefined;
    const { kind, fields } = node;
    const parts = nodesIn(fields[kind === 'A_ArrayExpr' ? 'elements' : 'args']);
    const name = kind === 'FuncCall' ? namesIn(fields['funcname']).at(-1) : undefined;
    if (kind === 'A_ArrayExpr' || name === 'jsonb_build_object' || name === 'jsonb_build_array')
      return this.#sum(parts, (part) => this.#valueLength(part));
    if (kind === 'TypeCast') return this.#valueLength(nodesIn(fields['arg'])[0]);
    if (kind === 'SQLValueFunction' || name === 'now') return MAX_NUMBER;
    if (kind === 'A_Const') return literalLength(node);
    return this.#textLength(node);
  }

  #sum(parts: readonly Node[], lengthOf: (part: Node) => number | undefined): number | undefined {
    const lengths = parts.map(lengthOf);
    return lengths.includes(undefined) ? undefined : lengths.reduce<number>((sum, one) => sum + one!, 0);
  }
}

interface Node {
  readonly kind: string;
  readonly fields: Fields;
}

const MAX_TEXT = 200;
const MAX_NUMBER = 30;
const MAX_COSTLY = 60;
const VALUE_HINT = `One side must be a value written out, of at most ${MAX_TEXT} characters, or a parameter.`;
const MATCH_HINT = 'It is for full text search: write to_tsvector(a) @@ to_tsquery(b).';

// The limit for the second argument of each function, the text that is searched for.
const SOUGHT: Readonly<Record<string, { readonly max: number }>> = Object.assign(
  Object.create(null) as Record<string, { readonly max: number }>,
  {
    // Every character of the text is compared with each of these.
    btrim: { max: 10 },
    ltrim: { max: 10 },
    rtrim: { max: 10 },
    position: { max: MAX_TEXT },
    replace: { max: MAX_TEXT },
    split_part: { max: MAX_TEXT },
    strpos: { max: MAX_TEXT },
  },
);
const COSTLY = wordSet('* / % ^ |/ ||/ mod div power sqrt exp ln log');
// Functions that never return arrays or JSON.
const PLAIN_CALLS = wordSet(
  'now age avg count sum abs ceil ceiling floor round trunc mod power sqrt extract date_part date_trunc length char_length to_date to_timestamp make_date make_interval rank row_number',
);
const KEEPS_LENGTH = wordSet('concat like_escape lower upper');
const TEXT_SEARCH = wordSet('to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery');
const LANGUAGES = wordSet(
  'simple danish dutch english finnish french german hungarian italian norwegian portuguese romanian russian spanish swedish turkish',
);
const OPERATOR_KINDS: ReadonlySet<unknown> = wordSet(
  'AEXPR_OP AEXPR_OP_ANY AEXPR_OP_ALL AEXPR_LIKE AEXPR_ILIKE AEXPR_SIMILAR',
);
const COMPARISONS = wordSet('= <> != < > <= >=');
const PATTERNS = wordSet('~~ ~~* !~~ !~~*');
const CONTAINMENT = wordSet('&& @> <@');
// The regular expression engine checks for cancellation, so patterns may have any length.
const OPERATORS = wordSet(
  '= <> != < > <= >= + - * / % ^ || ~ ~* !~ !~* ^@ -> ->> #> #>> ? & | # << >> @ |/ ||/',
);

function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}

function refuseUnless(isFine: boolean, operator: string, hint: string): void {
  if (isFine) return;
  throw new SqlRefusal(
    'Operator not allowed',
    `The operator ${operator} cannot be used here like this. ${hint}`,
  );
}

function nodesIn(list: unknown): Node[] {
  const nodes: Node[] = [];
  visitValue(list, (kind, fields) => nodes.push({ kind, fields }));
  return nodes;
}

function textOf(node: Node | undefined): string | undefined {
  if (node?.kind !== 'A_Const') return undefined;
  const text = node.fields['sval'] as { readonly sval?: string } | undefined;
  return text && (text.sval ?? '');
}

function literalLength(node: Node): number {
  const bits = node.fields['bsval'] as { readonly bsval?: string } | undefined;
  return textOf(node)?.length ?? (bits ? 4 * (bits.bsval?.length ?? 0) : MAX_NUMBER);
}

function isTextType(type: Fields): boolean {
  return type['arrayBounds'] === undefined && /^(text|varchar)$/.test(namesIn(type['names']).at(-1) ?? '');
}

function isTextSearch(node: Node | undefined): boolean {
  return node?.kind === 'FuncCall' && TEXT_SEARCH.has(namesIn(node.fields['funcname']).at(-1) ?? '');
}

// Whether a value is neither an array nor JSON.
function isPlain(node: Node | undefined): boolean {
  if (node?.kind === 'A_Const' || node?.kind === 'ParamRef' || node?.kind === 'SQLValueFunction') return true;
  if (node?.kind === 'TypeCast') return (node.fields['typeName'] as Fields)['arrayBounds'] === undefined;
  if (node?.kind === 'A_Expr') return /^[*/%]$/.test(namesIn(node.fields['name']).at(-1) ?? '');
  return isPlainCall(node);
}

function isPlainCall(node: Node | undefined): boolean {
  const name = node?.kind === 'FuncCall' ? namesIn(node.fields['funcname']).at(-1) : undefined;
  return name !== undefined && PLAIN_CALLS.has(name);
}
