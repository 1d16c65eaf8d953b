import { canonicalJson } from '../../base/canonical-json.ts';
import type { ToolRequest } from '../models/model.ts';
import { exceeded, type Exceeded } from './budget.ts';

const REPEATS = 5;

/** Notices a model that asks for the same call again and again. */
export class LoopGuard {
  readonly #repeats: number;
  #last = '';
  #count = 0;

  constructor(repeats: number = REPEATS) {
    this.#repeats = repeats;
  }

  /** Looks at a call before it is made; the bound is returned once it was asked for too often in a row. */
  look({ name, arguments: args }: ToolRequest): Exceeded | undefined {
    const call = `${name} ${typeof args === 'string' ? JSON.stringify(args) : canonicalJson(args)}`;
    this.#count = call === this.#last ? this.#count + 1 : 1;
    this.#last = call;
    if (this.#count < this.#repeats) return undefined;
    return exceeded('repeats', `the same call of ${name} ${this.#count} times in a row`);
  }
}
