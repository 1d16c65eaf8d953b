import { floor, power, rational, round, squareRoot, type Rational } from './rational.ts';

/** Says what is wrong with an expression, and where, in words a model can act on. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

const MAX_DEPTH = 50;
const MAX_EXPONENT = 400;

/** Computes an expression of numbers, operators and functions; everything it holds is read here, and nothing is run. */
export function evaluate(text: string): Rational {
  const reader = new Reader(text);
  const value = reader.sum(0);
  reader.end();
  return value;
}

/** Reads an expression from left to right, and computes as it goes. */
class Reader {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  end(): void {
    const token = this.#tokens[this.#at];
    if (token)
      throw new ExpressionError(`"${token.text}" at character ${token.place} does not belong there.`);
  }

  sum(depth: number): Rational {
    let value = this.#product(depth);
    for (;;) {
      if (this.#take('+')) value = add(value, this.#product(depth));
      else if (this.#take('-')) value = add(value, negate(this.#product(depth)));
      else return value;
    }
  }

  #product(depth: number): Rational {
    let value = this.#signed(depth);
    for (;;) {
      if (this.#take('*')) value = multiply(value, this.#signed(depth));
      else if (this.#take('/')) value = divide(value, this.#signed(depth));
      else if (this.#take('%')) value = remainder(value, this.#signed(depth));
      else return value;
    }
  }

  #signed(depth: number): Rational {
    checkDepth(depth);
    if (this.#take('-')) return negate(this.#signed(depth + 1));
    if (this.#take('+')) return this.#signed(depth + 1);
    const base = this.#operand(depth);
    if (!this.#take('^')) return base;
    return raise(base, this.#signed(depth + 1));
  }

  #operand(depth: number): Rational {
    checkDepth(depth);
    const token = this.#tokens[this.#at];
    if (!token) throw new ExpressionError('The expression ends where a number is missing.');
    this.#at++;
    if (token.value) return token.value;
    if (token.text === '(') {
      const value = this.sum(depth + 1);
      this.#expect(')');
      return value;
    }
    const compute = functions.get(token.text.toLowerCase());
    if (compute) return compute(this.#arguments(token.text, depth));
    const known = /^[a-z]/i.test(token.text) ? `; the functions are ${[...functions.keys()].join(', ')}` : '';
    throw new ExpressionError(`"${token.text}" at character ${token.place} is no number${known}.`);
  }

  #arguments(name: string, depth: number): readonly Rational[] {
    if (!this.#take('(')) throw new ExpressionError(`Write ${name}(...), with what it is about in brackets.`);
    const given = [this.sum(depth + 1)];
    while (this.#take(',')) given.push(this.sum(depth + 1));
    this.#expect(')');
    return given;
  }

  #take(text: string): boolean {
    if (this.#tokens[this.#at]?.text !== text) return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (this.#take(text)) return;
    const token = this.#tokens[this.#at];
    throw new ExpressionError(
      token ? `"${text}" is missing before character ${token.place}.` : `"${text}" is missing at the end.`,
    );
  }
}

interface Token {
  readonly text: string;
  /** Counted from one. */
  readonly place: number;
  readonly value?: Rational;
}

const TOKEN = /\s*(?:(\d+(?:\.\d*)?|\.\d+)(?:e([+-]?\d+))?|([a-z]+)|([-+*/%^(),]))/iy;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  for (TOKEN.lastIndex = 0; text.slice(TOKEN.lastIndex).trim() !== '';) {
    const from = TOKEN.lastIndex;
    const [whole, digits, exponent, name, sign] = TOKEN.exec(text) ?? [];
    if (whole === undefined) {
      const place = from + /^\s*/.exec(text.slice(from))![0].length;
      throw new ExpressionError(
        `${JSON.stringify(text[place])} at character ${place + 1} cannot be read; write numbers without signs for thousands or units.`,
      );
    }
    const place = TOKEN.lastIndex - whole.trimStart().length + 1;
    if (digits === undefined) tokens.push({ text: (name ?? sign)!, place });
    else tokens.push({ text: whole.trim(), place, value: numberOf(digits, Number(exponent ?? 0)) });
  }
  return tokens;
}

function numberOf(digits: string, exponent: number): Rational {
  if (Math.abs(exponent) > MAX_EXPONENT)
    throw new ExpressionError(`An exponent can be ${MAX_EXPONENT} at most.`);
  const [whole = '', part = ''] = digits.split('.');
  const shift = exponent - part.length;
  const scale = 10n ** BigInt(Math.abs(shift));
  const value = BigInt(`${whole}${part}` || '0');
  return shift < 0 ? rational(value, scale) : rational(value * scale);
}

function checkDepth(depth: number): void {
  if (depth > MAX_DEPTH) throw new ExpressionError('The expression is nested too deeply; split it up.');
}

function add(a: Rational, b: Rational): Rational {
  return rational(a.over * b.under + b.over * a.under, a.under * b.under, a.isExact && b.isExact);
}

function negate({ over, under, isExact }: Rational): Rational {
  return { over: -over, under, isExact };
}

function multiply(a: Rational, b: Rational): Rational {
  return rational(a.over * b.over, a.under * b.under, a.isExact && b.isExact);
}

function divide(a: Rational, b: Rational): Rational {
  if (b.over === 0n) throw new ExpressionError('Nothing can be divided by zero.');
  return rational(a.over * b.under, a.under * b.over, a.isExact && b.isExact);
}

// The sign is that of the dividend, as in most languages.
function remainder(a: Rational, b: Rational): Rational {
  const quotient = divide(a, b);
  const whole = rational(quotient.over / quotient.under, 1n, quotient.isExact);
  return add(a, negate(multiply(whole, b)));
}

function raise(base: Rational, exponent: Rational): Rational {
  if (exponent.under !== 1n)
    throw new ExpressionError('An exponent must be a whole number; use sqrt for roots.');
  if (base.over === 0n && exponent.over < 0n) throw new ExpressionError('Nothing can be divided by zero.');
  return power(base, exponent.over);
}

function compare(a: Rational, b: Rational): number {
  return Number(a.over * b.under - b.over * a.under > 0n) - Number(a.over * b.under - b.over * a.under < 0n);
}

type Compute = (given: readonly Rational[]) => Rational;

const functions: ReadonlyMap<string, Compute> = new Map<string, Compute>([
  ['abs', one((value) => (value.over < 0n ? negate(value) : value))],
  ['floor', one(floor)],
  ['ceil', one((value) => negate(floor(negate(value))))],
  [
    'sqrt',
    one((value) => {
      if (value.over < 0n) throw new ExpressionError('There is no square root of a negative number.');
      return squareRoot(value);
    }),
  ],
  ['round', roundTo],
  ['min', (given) => given.reduce((a, b) => (compare(a, b) <= 0 ? a : b))],
  ['max', (given) => given.reduce((a, b) => (compare(a, b) >= 0 ? a : b))],
  ['sum', (given) => given.reduce(add)],
  ['avg', (given) => divide(given.reduce(add), rational(BigInt(given.length)))],
]);

function one(compute: (value: Rational) => Rational): Compute {
  return ([value, ...more]) => {
    if (more.length > 0) throw new ExpressionError('abs, floor, ceil and sqrt take one number.');
    return compute(value!);
  };
}

function roundTo([value, places = rational(0n), ...more]: readonly Rational[]): Rational {
  const count = Number(places.over);
  if (more.length > 0 || places.under !== 1n || Math.abs(count) > 100)
    throw new ExpressionError('round takes a number, and how many places to keep: a whole number up to 100.');
  return round(value!, count);
}
