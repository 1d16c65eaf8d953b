import { randomBytes } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { definitionDigest } from '../../core/definition-digest.ts';
import type { Tool } from '../../core/tool.ts';
import type { GrantScope } from './decision.ts';
import { fingerprintOf, type Subject } from '../fingerprint.ts';
import { makeRoomIn } from '../../core/memory/bounded-map.ts';

/** Something a person said yes to for a while. */
export interface Grant {
  readonly id: string;
  readonly scope: GrantScope;
  /** Whose calls it is for. */
  readonly owner: string;
  /** The server, by the operator's name for it; `undefined` for tools of this process. */
  readonly server: string | undefined;
  /** The names of the tools it covers, as they were defined when it was given. */
  readonly tools: readonly string[];
  /** With `call`: the arguments it is for. */
  readonly arguments: Readonly<Record<string, unknown>> | undefined;
  readonly grantedAt: number;
  readonly expiresAt: number;
}

/** The calls that a grant covers. */
export interface GrantRequest {
  readonly owner: string;
  readonly scope: GrantScope;
  readonly subject: Subject;
  /** With `server`: every tool it has now. */
  readonly siblings: readonly Tool[];
  readonly minutes: number | undefined;
}

interface Kept extends Omit<Grant, 'tools'> {
  /** By name: the definition that was agreed to. */
  readonly definitions: Map<string, string>;
  readonly fingerprint: string | undefined;
}

const DEFAULT_MINUTES = 60;
const MAX_MINUTES = 1_440;
// A person who grants more than this loses the oldest.
const MAX_GRANTS = 1_000;

/** What people have allowed for a while: each grant can be listed and revoked, and ends with its time. */
export class Grants {
  readonly #kept = new Map<string, Kept>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Remembers a yes; it covers the tools as they are defined now. */
  add({ owner, scope, subject, siblings, minutes }: GrantRequest): Grant | undefined {
    const { tool } = subject;
    const fingerprint = scope === 'call' ? fingerprintOf(subject) : undefined;
    // Arguments that are no JSON cannot be known again.
    if (scope === 'call' && fingerprint === undefined) return undefined;
    const grantedAt = this.#clock.now();
    const server = tool.place?.source;
    const covered = scope === 'server' ? siblings.filter((other) => other.place?.source === server) : [];
    const kept: Kept = {
      id: `grn_${randomBytes(6).toString('hex')}`,
      scope,
      owner,
      server,
      arguments: scope === 'call' ? subject.arguments : undefined,
      grantedAt,
      expiresAt: grantedAt + minutesOf(minutes) * 60_000,
      definitions: new Map([...covered, tool].map((one) => [one.name, definitionDigest(one)])),
      fingerprint,
    };
    makeRoomIn(this.#kept, MAX_GRANTS);
    this.#kept.set(kept.id, kept);
    return shown(kept);
  }

  /** The grant that covers a call; for a tool whose definition has changed the grant ends. */
  find(owner: string, subject: Subject): Grant | undefined {
    const { tool } = subject;
    this.#forgetExpired();
    this.review([tool]);
    for (const kept of this.#kept.values()) {
      if (kept.owner !== owner || kept.server !== tool.place?.source) continue;
      if (!kept.definitions.has(tool.name)) continue;
      if (kept.scope !== 'call' || kept.fingerprint === fingerprintOf(subject)) return shown(kept);
    }
    return undefined;
  }

  /** Everything that is granted now, the oldest first. */
  list(): readonly Grant[] {
    this.#forgetExpired();
    return [...this.#kept.values()].map(shown);
  }

  /** Takes a grant back; whether there was one. */
  revoke(id: string): boolean {
    return this.#kept.delete(id);
  }

  /** Ends the grants for tools whose definitions have changed. */
  review(tools: readonly Tool[]): void {
    for (const [id, { definitions }] of this.#kept) {
      for (const tool of tools) {
        const agreed = definitions.get(tool.name);
        if (agreed !== undefined && agreed !== definitionDigest(tool)) definitions.delete(tool.name);
      }
      if (definitions.size === 0) this.#kept.delete(id);
    }
  }

  #forgetExpired(): void {
    const now = this.#clock.now();
    for (const [id, { expiresAt }] of this.#kept) if (expiresAt <= now) this.#kept.delete(id);
  }
}

function minutesOf(minutes = DEFAULT_MINUTES): number {
  return Number.isFinite(minutes) && minutes > 0 ? Math.min(minutes, MAX_MINUTES) : DEFAULT_MINUTES;
}

function shown({ definitions, fingerprint: _fingerprint, ...grant }: Kept): Grant {
  return { ...grant, tools: [...definitions.keys()].toSorted() };
}
