import { hash } from 'node:crypto';
import { absentTools } from '../../core/absent-tool.ts';
import type { Call, ClientFacts, CompletionCall } from '../../core/call.ts';
import type { Caller } from '../../core/caller.ts';
import { CallerMemory } from '../../core/caller-memory.ts';
import { canonicalJson } from '../../base/canonical-json.ts';
import type { Clock } from '../../base/clock.ts';
import { definitionDigest } from '../../core/definition-digest.ts';
import type { ErrorCode } from '../../base/errors.ts';
import { escapeUnseen } from '../../base/escape-unseen.ts';
import { parseJson } from '../../base/parse-json.ts';
import type { Readable } from '../../core/expose-readings.ts';
import type { Refusal } from '../../core/record.ts';
import { governedName } from '../../core/tool.ts';

const MAX_PREVIEW = 4_096;
const MAX_NAME = 200;
// Names and arguments may be as long as a message; secrets are redacted this far, many times what is shown.
const MAX_SEARCHED = 65_536;

/** How the arguments of a call are recorded. */
export type ArgumentsShown = 'hashed' | 'preview' | 'none';

/** The parts that rows are made from. */
export interface RowOptions {
  readonly clock: Clock;
  readonly show: ArgumentsShown;
  /** Part of the digest of arguments, since short ones could be guessed. */
  readonly digestKey: string;
  readonly policyVersion: string;
  /** Redacts secrets in previews and names. */
  readonly redact: (text: string) => string;
}

/** How a call ended, for the record. */
export interface Ending {
  /** `done`, `failed`, `needs_input`, or the code of the error. */
  readonly outcome: 'done' | 'failed' | 'needs_input' | ErrorCode;
  readonly ms: number;
  /** The text of the arguments from `RowWriter.said`, made before the tool ran; only without an intent. */
  readonly said?: string | undefined;
  /** Whether an intent was sent and it is unknown if it was recorded. */
  readonly mayHaveIntent?: boolean;
}

// Endings that are not refusals, whether the target ran or not.
const NO_REFUSALS: ReadonlySet<string> = new Set(['done', 'failed', 'needs_input', 'cancelled']);

// Shared by all row writers.
const callerTexts = new CallerMemory<string>('row');

/** Writes rows, from parts that are cached, because every call has a row. */
export class RowWriter {
  readonly #options: RowOptions;
  readonly #policy: string;
  readonly #targets = new WeakMap<object, string>();
  #lastMs = -1;
  #lastTime = '';
  #lastClient: (Omit<ClientFacts, 'capabilities'> & { readonly text: string }) | undefined;

  constructor(options: RowOptions) {
    this.#options = options;
    this.#policy = `,"policy":${JSON.stringify(options.policyVersion)}`;
  }

  /** The row of a call that is about to run, or continues as a task. */
  intent(call: Call, said = this.said(call)): string {
    return `${this.#head('intent', call, said)},"decision":"allowed"${ruleOf(call)}${this.#policy}}`;
  }

  /** The part of a row about the arguments of a call. */
  said(call: Call): string {
    const { show, digestKey, redact } = this.#options;
    if (show === 'none' || call.kind === 'resource') return '';
    const args = call.kind === 'completion' ? call.argument : call.arguments;
    try {
      const json = JSON.stringify(args);
      const text = isInOrder(args) ? json : canonicalJson(args);
      const digest = hash('sha256', `${digestKey}${text}`, 'base64url' as 'hex').slice(0, 22);
      if (show === 'hashed') return `,"arguments":"${digest}"`;
      // A preview is cut; the digest covers all of it.
      return `,"arguments":"${digest}","preview":${toText(beginningOf(json, MAX_PREVIEW, redact))}`;
    } catch {
      // Calls in this process can pass any value, and a call that ran must be recorded whatever it was given.
      return ',"arguments":"unreadable"';
    }
  }

  /** The row of how a call ended; if it has an intent, the details are there. */
  ending(call: Call, ending: Ending): string {
    const { record } = call;
    // Ends the intent if there is one, and has all details in case there is none.
    const kind = ending.mayHaveIntent ? 'outcome' : 'call';
    const head = record.hasIntent
      ? this.#outcome(call)
      : this.#head(kind, call, ending.said ?? this.said(call));
    return `${head}${endOf(call, ending)}${record.hasIntent ? '' : `${ruleOf(call)}${this.#policy}`}}`;
  }

  /** The row of a message that was refused before it became a call. */
  refusal({ caller, method, target, code }: Refusal): string {
    const named = method === undefined ? '' : `,"method":${this.#name(method)}`;
    const about = target === undefined ? named : `${named},"target":${this.#name(target)}`;
    return `{"kind":"refusal","at":"${this.#time()}"${this.#caller(caller)}${about},"decision":"refused","outcome":"${code}"${this.#policy}}`;
  }

  #outcome(call: Call): string {
    const { caller, record } = call;
    return `{"kind":"outcome","call":"${record.id}","at":"${this.#time()}"${this.#caller(caller)}${this.#target(call)}`;
  }

  #head(kind: 'intent' | 'call' | 'outcome', call: Call, said: string): string {
    const { caller, client, record } = call;
    const trace = record.traceId === undefined ? '' : `,"trace":${toText(record.traceId)}`;
    const within = record.within === undefined ? '' : `,"within":"${record.within.id}"`;
    return `{"kind":"${kind}","call":"${record.id}"${within},"at":"${this.#time()}"${this.#caller(caller)}${this.#client(client)}${this.#target(call)}${said}${trace}`;
  }

  #caller(caller: Caller): string {
    let text = callerTexts.get(caller);
    if (text === undefined) {
      const { tenant, id, credential } = caller;
      const facts = { tenant: tenant.id, caller: id, ...(credential !== undefined && { credential }) };
      callerTexts.set(caller, (text = `,${toText(facts).slice(1, -1)}`));
    }
    return text;
  }

  // Most calls in a row come from the same client.
  #client({ name, version, protocolVersion }: ClientFacts): string {
    const last = this.#lastClient;
    if (last && last.name === name && last.version === version && last.protocolVersion === protocolVersion)
      return last.text;
    const protocol = protocolVersion === undefined ? '' : `,"protocol":${this.#name(protocolVersion)}`;
    const full = name === undefined || version === undefined ? name : `${name}/${version}`;
    const text = full === undefined ? protocol : `,"client":${this.#name(full)}${protocol}`;
    this.#lastClient = { name, version, protocolVersion, text };
    return text;
  }

  #target(call: Call): string {
    // A completion has the same target as its prompt or template, but another name in the row.
    if (call.kind === 'completion') return this.#describe(call);
    const target = targetOf(call);
    let text = this.#targets.get(target);
    if (text === undefined) this.#targets.set(target, (text = this.#describe(call)));
    return call.kind === 'resource' ? `${text},"uri":${this.#name(call.uri)}` : text;
  }

  #describe(call: Call): string {
    switch (call.kind) {
      case 'tool': {
        const { tool } = call;
        const definition = absentTools.has(tool) ? '' : `,"definition":"${definitionDigest(tool)}"`;
        return `,"tool":${this.#name(governedName(tool))}${definition}`;
      }
      case 'resource':
        return `,"resource":${this.#name(ruledName(call.resource))}`;
      case 'prompt':
        return `,"prompt":${this.#name(governedName(call.prompt))}`;
      case 'completion':
        return `,"completion":${this.#name(ruledName(call.target))}`;
    }
  }

  // Names come from callers, so they are cut.
  #name(text: string): string {
    const safe = beginningOf(text, MAX_NAME + 1, this.#options.redact);
    return toText(safe.length > MAX_NAME ? `${safe.slice(0, MAX_NAME)}…` : safe);
  }

  // Many rows are written within a millisecond.
  #time(): string {
    const now = this.#options.clock.now();
    if (now !== this.#lastMs) {
      this.#lastMs = now;
      this.#lastTime = new Date(now).toISOString();
    }
    return this.#lastTime;
  }
}

/** The chain of a tenant; the name is one word for any tenant id. */
export function chainOfTenant(id: string): string {
  // Quoted first: lone surrogates and the empty id get a name too, and no two tenants share one.
  return /^[\w.-]+$/.test(id) ? id : encodeURIComponent(JSON.stringify(id));
}

/** The tenant of a chain; an unknown name is returned unchanged. */
export function tenantOfChain(chain: string): string {
  if (/^[\w.-]+$/.test(chain)) return chain;
  try {
    const id: unknown = parseJson(decodeURIComponent(chain));
    return typeof id === 'string' ? id : chain;
  } catch {
    return chain;
  }
}

/** The chain of a caller's tenant. */
export function chainOf({ tenant }: Caller): string {
  return chainOfTenant(tenant.id);
}

// An address is in the row beside the name.
function ruledName({ name, place }: Readable): string {
  return place ? `${place.source}.${name}` : name;
}

function targetOf(call: Exclude<Call, CompletionCall>): object {
  switch (call.kind) {
    case 'tool':
      return call.tool;
    case 'resource':
      return call.resource;
    case 'prompt':
      return call.prompt;
  }
}

function ruleOf({ record }: Call): string {
  const rule = record.rule === undefined ? '' : `,"rule":${toText(record.rule)}`;
  return record.approval === undefined ? rule : `${rule},"approval":${toText(record.approval)}`;
}

function endOf({ record }: Call, { outcome, ms }: Ending): string {
  // A replayed call ran when its outcome was stored.
  const isAllowed = record.hasRun || record.answeredFrom === 'replay' || NO_REFUSALS.has(outcome);
  const decision = record.hasIntent ? '' : `,"decision":"${isAllowed ? 'allowed' : 'refused'}"`;
  const from = record.answeredFrom === undefined ? '' : `,"from":"${record.answeredFrom}"`;
  const bytes = record.bytes === undefined ? '' : `,"bytes":${record.bytes}`;
  const account = record.account === undefined ? '' : `,"account":${toText(record.account)}`;
  return `${decision},"outcome":"${outcome}"${from}${account},"ms":${Math.round(ms * 1000) / 1000}${bytes}`;
}

// Most arguments have their keys in order already, so their JSON is canonical.
function isInOrder(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  let before = '';
  for (const key of Object.keys(value)) {
    if (key < before || !isInOrder((value as Readonly<Record<string, unknown>>)[key])) return false;
    before = key;
  }
  return true;
}

// Redacted before the cut, which may fall inside a secret: the rest would not be recognised.
function beginningOf(text: string, length: number, redact: RowOptions['redact']): string {
  const safe = redact(text.slice(0, MAX_SEARCHED));
  // If most was redacted, the end of the searched text would be shown, and a secret may cross it.
  if (text.length > MAX_SEARCHED && safe.length < MAX_SEARCHED / 2) return '…';
  return safe.slice(0, length);
}

// Escapes invisible characters and terminal controls.
function toText(value: unknown): string {
  return escapeUnseen(JSON.stringify(value));
}
