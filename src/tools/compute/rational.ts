/** A number as a fraction of whole numbers, in lowest terms and with a positive denominator. */
export interface Rational {
  readonly over: bigint;
  readonly under: bigint;
  /** Whether nothing was rounded on the way to it. */
  readonly isExact: boolean;
}

/** Ends a computation whose numbers grow beyond the limit. */
export class NumberTooLarge extends Error {
  override readonly name = 'NumberTooLarge';
}

/** The most digits the parts of a number may have. */
export const MAX_DIGITS = 500;

const LIMIT = 10n ** BigInt(MAX_DIGITS);

/** Makes a number of two whole ones, of which the second is not zero. */
export function rational(over: bigint, under = 1n, isExact = true): Rational {
  const divisor = gcd(over, under);
  const sign = under < 0n ? -1n : 1n;
  const [a, b] = [(sign * over) / divisor, (sign * under) / divisor];
  if (a >= LIMIT || a <= -LIMIT || b >= LIMIT) throw new NumberTooLarge();
  return { over: a, under: b, isExact };
}

/** Raises a number to a whole power; whether it would be too large is known before it is computed. */
export function power(base: Rational, exponent: bigint): Rational {
  const size = exponent < 0n ? -exponent : exponent;
  const digits = BigInt(Math.max(String(base.over).length, String(base.under).length));
  const isUnit = (base.over === 1n || base.over === -1n || base.over === 0n) && base.under === 1n;
  if (!isUnit && (digits - 1n) * size > BigInt(MAX_DIGITS)) throw new NumberTooLarge();
  const odd = size % 2n;
  // Of one and its like only the sign can change, however large the exponent is.
  const [over, under] = isUnit
    ? [size === 0n ? 1n : odd === 1n ? base.over : base.over ** 2n, 1n]
    : raise(base, size);
  return exponent < 0n ? rational(under, over, base.isExact) : rational(over, under, base.isExact);
}

function raise({ over, under }: Rational, size: bigint): [bigint, bigint] {
  if (size > BigInt(MAX_DIGITS * 4)) throw new NumberTooLarge();
  return [over ** size, under ** size];
}

/** The square root of a number that is not negative; to fifty places where it does not come out even. */
export function squareRoot({ over, under, isExact }: Rational): Rational {
  const [a, b] = [wholeRoot(over), wholeRoot(under)];
  if (a * a === over && b * b === under) return rational(a, b, isExact);
  const scale = 10n ** 50n;
  return rational(wholeRoot((over * scale * scale) / under), scale, false);
}

/** Rounds to so many places behind the point, halves away from zero. */
export function round({ over, under, isExact }: Rational, places: number): Rational {
  const scale = 10n ** BigInt(Math.abs(places));
  const [a, b] = places < 0 ? [over, under * scale] : [over * scale, under];
  const twice = a < 0n ? -((-a * 2n + b) / (b * 2n)) : (a * 2n + b) / (b * 2n);
  return places < 0 ? rational(twice * scale, 1n, isExact) : rational(twice, scale, isExact);
}

/** The largest whole number that is not larger. */
export function floor({ over, under, isExact }: Rational): Rational {
  const whole = over / under;
  return rational(over < 0n && whole * under !== over ? whole - 1n : whole, 1n, isExact);
}

/** A number as a decimal: with all its digits where they end, with so many where they do not. */
export function toDecimal(
  value: Rational,
  digits: number,
): { readonly text: string; readonly isExact: boolean } {
  const places = placesOf(value.under);
  if (places !== undefined)
    return {
      text: plain(value.over * (10n ** BigInt(places) / value.under), places),
      isExact: value.isExact,
    };
  const { over, under } = value;
  const size = String((over < 0n ? -over : over) / under).length;
  const behind = Math.max(0, digits - size) + leadingNoughts(value);
  const { over: a, under: b } = round(value, behind);
  return { text: plain(a * (10n ** BigInt(behind) / b), behind), isExact: false };
}

// How many places behind the point it takes, if a number of them is enough.
function placesOf(under: bigint): number | undefined {
  let [rest, twos, fives] = [under, 0, 0];
  while (rest % 2n === 0n) [rest, twos] = [rest / 2n, twos + 1];
  while (rest % 5n === 0n) [rest, fives] = [rest / 5n, fives + 1];
  return rest === 1n ? Math.max(twos, fives) : undefined;
}

function leadingNoughts({ over, under }: Rational): number {
  const size = over < 0n ? -over : over;
  return size >= under ? 0 : Math.max(0, String(under).length - String(size).length - 1);
}

function plain(scaled: bigint, places: number): string {
  const sign = scaled < 0n ? '-' : '';
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(places + 1, '0');
  const [whole, part] = [digits.slice(0, digits.length - places), digits.slice(digits.length - places)];
  let end = part.length;
  while (part[end - 1] === '0') end--;
  const kept = part.slice(0, end);
  return `${sign}${whole}${kept === '' ? '' : `.${kept}`}`;
}

function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x === 0n ? 1n : x;
}

function wholeRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 10n ** BigInt(Math.ceil(String(value).length / 2));
  for (;;) {
    const next = (root + value / root) / 2n;
    if (next >= root) return root;
    root = next;
  }
}
