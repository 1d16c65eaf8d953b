import { ToolcribError } from '../../base/errors.ts';
import type { Prompt } from './prompt.ts';

/** Holds the prompts that users may pick; tells its owner of every change. */
export class PromptRegistry {
  readonly #onChange: () => void;
  readonly #prompts = new Map<string, Prompt>();
  #listed: readonly Prompt[] | undefined;

  constructor(onChange: () => void = () => {}) {
    this.#onChange = onChange;
  }

  /** Adds prompts made with `definePrompt`; refuses a name that is taken. */
  register(...prompts: readonly Prompt[]): this {
    for (const prompt of prompts) {
      if (this.#prompts.has(prompt.name)) {
        throw new ToolcribError(
          'invalid_tool',
          `A prompt named "${prompt.name}" is registered already; rename it or remove() the other first.`,
        );
      }
      this.#prompts.set(prompt.name, prompt);
      this.#changed();
    }
    return this;
  }

  /** Takes a prompt away; says whether it was there. */
  remove(name: string): boolean {
    if (!this.#prompts.delete(name)) return false;
    this.#changed();
    return true;
  }

  /** All prompts in the order of names: the same frozen array until something changes. */
  list(): readonly Prompt[] {
    this.#listed ??= Object.freeze(
      [...this.#prompts.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    );
    return this.#listed;
  }

  /** The prompt of that name. */
  find(name: string): Prompt | undefined {
    return this.#prompts.get(name);
  }

  /** How many prompts there are. */
  get size(): number {
    return this.#prompts.size;
  }

  #changed(): void {
    this.#listed = undefined;
    this.#onChange();
  }
}
