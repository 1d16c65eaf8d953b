import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { ToolcribError } from '../../base/errors.ts';
import type { SealingKeys, SpentStates } from '../../core/memory/memory.ts';
import { parseJson } from '../../base/parse-json.ts';

/** The call that a sealed state belongs to: for any other call it is not valid. */
export interface Binding {
  readonly owner: string;
  readonly method: string;
  /** The tool, prompt or resource, with the fingerprint of its definition. */
  readonly target: string;
  /** The fingerprint of the arguments. */
  readonly arguments: string;
}

/** What the seal needs. */
export interface SealOptions {
  readonly keys: SealingKeys;
  readonly spent: SpentStates;
  readonly clock: Clock;
}

/** How often one call may ask: a resumed run is not counted by the rate, so its rounds are. */
export const MAX_ROUNDS = 20;

const LIFETIME_MS = 10 * 60_000;
const MAX_STATE_LENGTH = 256 * 1024;
const IV_BYTES = 12;
const TAG_BYTES = 16;

interface Sealed extends Binding {
  readonly nonce: string;
  readonly expiresAt: number;
  readonly round: number;
  readonly answers: readonly (readonly [string, unknown])[];
  readonly state?: string | undefined;
  readonly parked?: string | undefined;
}

/** The content of a sealed state. */
export interface OpenedState {
  readonly answers: ReadonlyMap<string, unknown>;
  /** How often the call has asked so far. */
  readonly round: number;
  /** The state of the server behind the gateway that asked; it goes back to it with the answers. */
  readonly state?: string | undefined;
  /** The name of the call that waits for the answers. */
  readonly parked?: string | undefined;
}

/**
 * Seals the answers of a call that is not finished into text the client carries, and opens it again; only we can make
 * or read it.
 */
export class Seal {
  readonly #options: SealOptions;

  constructor(options: SealOptions) {
    this.#options = options;
  }

  /** Seals the answers so far, and how often the call has asked. */
  async close({ answers, ...opened }: OpenedState, binding: Binding): Promise<string> {
    const { keys, clock } = this.#options;
    const key = await keys.current();
    const nonce = randomBytes(16).toString('base64url');
    const expiresAt = clock.now() + LIFETIME_MS;
    const sealed: Sealed = { ...binding, nonce, expiresAt, ...opened, answers: [...answers] };
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key.bytes, iv).setAAD(Buffer.from(key.id));
    const text = Buffer.concat([cipher.update(JSON.stringify(sealed), 'utf8'), cipher.final()]);
    const state = `${key.id}.${Buffer.concat([iv, text, cipher.getAuthTag()]).toString('base64url')}`;
    if (state.length <= MAX_STATE_LENGTH) return state;
    throw new ToolcribError(
      'cannot_ask',
      'The answers so far are too long to be carried to the next question.',
    );
  }

  /**
   * Opens a state for the call it was sealed for; `once` uses it up. Throws `invalid_state` for anything else, without
   * saying why.
   */
  async open(state: string, binding: Binding, use: 'once' | 'again'): Promise<OpenedState> {
    const sealed = await this.#decrypt(state);
    const { owner, method, target, arguments: args } = binding;
    const matches =
      sealed?.owner === owner &&
      sealed.method === method &&
      sealed.target === target &&
      sealed.arguments === args;
    if (!matches || sealed.expiresAt <= this.#options.clock.now()) throw invalidState();
    if (use === 'once' && !(await this.#options.spent.spend(sealed.nonce, sealed.expiresAt, owner)))
      throw invalidState();
    const { answers, round, state: far, parked } = sealed;
    return { answers: new Map(answers), round, state: far, parked };
  }

  async #decrypt(state: string): Promise<Sealed | undefined> {
    if (state.length > MAX_STATE_LENGTH) return undefined;
    const [id = '', body = ''] = state.split('.');
    const key = await this.#options.keys.find(id);
    const bytes = Buffer.from(body, 'base64url');
    // Only the canonical text may pass: lenient decoding would let a changed state through.
    if (!key || bytes.length < IV_BYTES + TAG_BYTES || `${id}.${bytes.toString('base64url')}` !== state)
      return undefined;
    const iv = bytes.subarray(0, IV_BYTES);
    const tag = bytes.subarray(-TAG_BYTES);
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.bytes, iv).setAAD(Buffer.from(id)).setAuthTag(tag);
      const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      return parseJson(text.toString('utf8')) as Sealed;
    } catch {
      return undefined;
    }
  }
}

function invalidState(): ToolcribError {
  return new ToolcribError(
    'invalid_state',
    'This "requestState" is not valid for this call; call again without it.',
  );
}
