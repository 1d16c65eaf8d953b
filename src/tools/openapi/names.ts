import { createHash } from 'node:crypto';
import { withoutEnd } from '../without-end.ts';

const MAX_LENGTH = 64;

/** Makes unique names of letters, digits, `_` and `-`. */
export class NameGiver {
  readonly #taken = new Set<string>();
  readonly #prefix: string;

  constructor(prefix = '') {
    this.#prefix = prefix;
  }

  /** The first of the wishes with a usable character, made valid; a repeated name gets a number. */
  give(...wishes: readonly string[]): string {
    const wish = wishes.find((one) => /[A-Za-z0-9]/.test(one)) ?? `unnamed_${digestOf(wishes.join())}`;
    const plain = `${this.#prefix}${withoutEnds(wish.replaceAll(/[^A-Za-z0-9_-]+/g, '_'))}`;
    const name = shortened(plain, MAX_LENGTH);
    for (let number = 1; ; number++) {
      const numbered = number === 1 ? name : `${shortened(plain, MAX_LENGTH - 5)}_${number}`;
      if (this.#taken.has(numbered)) continue;
      this.#taken.add(numbered);
      return numbered;
    }
  }
}

function withoutEnds(name: string): string {
  return withoutEnd(name.replace(/^_+/, ''), '_');
}

// The part cut off is hashed into a few digits, so that the name does not depend on other names.
function shortened(name: string, length: number): string {
  return name.length <= length ? name : `${name.slice(0, length - 7)}_${digestOf(name)}`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 6);
}
