import { nothing } from '../base/awaitable.ts';
import { digest } from '../base/digest.ts';
import { compileGlobTable } from '../base/glob.ts';
import { askToolName } from '../config/agents.ts';
import { limitTime } from '../core/essentials/limit-time.ts';
import { permit } from '../core/essentials/permit.ts';
import type { Call } from '../core/call.ts';
import type { Next, Stage } from '../core/stage.ts';
import { validateInputWithin, validateOutputWithin } from '../core/essentials/validate.ts';
import { ToolcribError } from '../base/errors.ts';
import { approve, type ApproveParts } from '../stages/approve/approve.ts';
import { audit, type AuditStage } from '../stages/record/audit.ts';
import type { Access } from '../stages/access/authorize.ts';
import { cache } from '../stages/cache/cache.ts';
import { circuitBreak } from '../stages/limits/circuit-break.ts';
import { commit } from '../stages/record/commit.ts';
import { concurrency } from '../stages/limits/concurrency.ts';
import { idempotency } from '../stages/idempotency.ts';
import { metrics } from '../stages/metrics.ts';
import { pin, type PinMode } from '../stages/pin/pin.ts';
import { skillsOf } from '../store/pin.ts';
import { rateLimit } from '../stages/limits/rate-limit.ts';
import { retry } from '../stages/retry.ts';
import { cleanDefinitions } from '../stages/cleaning/clean-definitions.ts';
import { sanitize } from '../stages/cleaning/sanitize.ts';
import { sanitizeInput } from '../stages/cleaning/sanitize-input.ts';
import { timeLimits } from '../stages/timeout.ts';
import { servedLimits } from './settings/agents.ts';
import type { Config } from './settings/config.ts';
import type { Lasting } from './lasting.ts';

/** The stages of a configuration in their fixed order, and the functions of its record. */
export interface StandardStages {
  readonly inOrder: readonly Stage[];
  readonly refuse: AuditStage['refuse'];
  /** Records refusals that were only counted so far. */
  readonly flush: AuditStage['flush'];
  /** Records counts, and open calls as cancelled; the last step before the record is closed. */
  readonly close: AuditStage['close'];
  /** The calls that have started here and are not over or, with a record, not recorded yet. */
  readonly tally: { readonly underWay: number };
  /** Changes with every rule and setting a decision depends on; it is in every row of the record. */
  readonly policyVersion: string;
}

/** The parts of the stages that are not in a configuration. */
export interface StageParts extends Pick<ApproveParts, 'onToolCall' | 'toolsOf'> {
  readonly access?: Access | undefined;
}

/** Makes the stages a configuration switches on. */
export async function createStandardStages(
  config: Config,
  lasting: Lasting,
  { access, onToolCall, toolsOf }: StageParts,
): Promise<StandardStages> {
  const { stages } = config;
  const ruled = [config.access ?? null, stages, ...(config.agents ? [config.agents] : [])];
  const policyVersion = digest(ruled).slice(0, 12);
  const trace = stages.trace && (await import('../stages/trace.ts')).trace(stages.trace);
  const record = createRecord(config, lasting, policyVersion);
  const unrecorded = { underWay: 0 };
  const { clock, buckets, slots, breakers, results, running, store } = lasting;
  const limits = timeLimits(stages.timeout === false ? LONGEST : withAgents(stages.timeout, config), lasting);
  const checking = { ...limits, msFor: (tool?: string) => Math.min(CHECK_MS, limits.msFor(tool)) };
  const checks = [
    stages.sanitizeInput && sanitizeInput(stages.sanitizeInput),
    validateInputWithin(checking),
    permit(checking),
    access?.byCondition,
  ].filter(isOn);
  const inOrder = [
    trace,
    stages.metrics && metrics(stages.metrics, { metrics: lasting.metrics, clock }),
    record?.audit ?? countCalls(unrecorded),
    stages.rateLimit && rateLimit(stages.rateLimit, { clock, buckets, quotas: store.quotas }),
    access?.byName,
    ...checks,
    // A key is taken with the intent, so without a record there are no keys.
    stages.idempotency &&
      record &&
      idempotency(stages.idempotency, { reservations: store.reservations, clock, running }),
    createApprove(config, lasting, { onToolCall, toolsOf, checks }),
    stages.cache && cache(stages.cache, { policyVersion, clock, results }),
    validateOutputWithin(checking, config.server.onInvalidOutput),
    stages.sanitize && sanitize(stages.sanitize, { secrets: lasting.live }),
    stages.circuitBreak && circuitBreak(stages.circuitBreak, { clock, breakers }),
    stages.concurrency && concurrency(stages.concurrency, { clock, slots }),
    record?.commit,
    stages.retry && retry(stages.retry, { clock }),
    limitTime(limits),
    pin(stages.pin === false ? HOLD_NOTHING : stages.pin, {
      book: lasting.pins,
      modes: pinModes(config),
      named: namedOnes(config),
      isRecorded: record !== undefined,
    }),
    // Last, so that all others see definitions as they are.
    config.mcpServers && cleanDefinitions(lasting.live),
  ].filter(isOn);
  const { refuse = nothing, flush = nothing, close = nothing } = record?.audit ?? {};
  return { inOrder, refuse, flush, close, tally: record?.audit ?? unrecorded, policyVersion };
}

function isOn(stage: Stage | false | undefined): stage is Stage {
  return stage !== undefined && stage !== false;
}

function createApprove(
  { stages: { approve: asking }, mcpServers = {} }: Config,
  { store, clock, grants, untrustedReads, log }: Lasting,
  parts: Pick<ApproveParts, 'onToolCall' | 'toolsOf' | 'checks'>,
): Stage {
  const isPerson = asking !== false && asking.mode === 'person';
  // Either of the two alone would leave people unasked without a word.
  if (isPerson !== (parts.onToolCall !== undefined)) {
    const text = isPerson
      ? 'stages.approve.mode is "person", and nobody can be asked: give onToolCall to createGateway in a program of your own, or set the mode to "operator".'
      : 'onToolCall is given, and would never be called: set stages.approve.mode to "person".';
    throw new ToolcribError('invalid_setup', text);
  }
  return approve(asking === false ? ONLY_ASKERS : asking, {
    ...parts,
    approvals: store.approvals,
    grants,
    untrustedReads,
    isTrusted: (server) => Object.hasOwn(mcpServers, server) && mcpServers[server]!.trust === 'trusted',
    clock,
    onAsked: ({ id, tool, tenant, caller }) =>
      log('info', `A call waits to be approved as ${id}; see: toolcrib approvals list`, {
        tool,
        tenant,
        caller,
      }),
  });
}

// Tools that ask by themselves are asked here, before anything is reserved or written.
const ONLY_ASKERS = { when: [] };
// A server may still set a mode of its own.
const HOLD_NOTHING = { mode: 'off' } as const;
// Used if the stage is switched off: no call may last for ever.
const LONGEST = { seconds: 3600 };
// Checks written by authors should be quick.
const CHECK_MS = 30_000;

type Times = Exclude<Config['stages']['timeout'], false>;

// An agent ends by itself in time, and says why; where the operator says how long it may take, that holds.
function withAgents(times: Times, { agents = {} }: Config): Times {
  const said = compileGlobTable(times.perTool);
  const own = Object.entries(agents).flatMap(([name, entry]): [string, number][] => {
    const limits = servedLimits(entry);
    const tool = askToolName(name);
    return limits && said(tool) === undefined ? [[tool, Math.min(limits.seconds + GRACE_SECONDS, 3600)]] : [];
  });
  return own.length === 0 ? times : { ...times, perTool: { ...times.perTool, ...Object.fromEntries(own) } };
}

const GRACE_SECONDS = 5;

function pinModes({ mcpServers = {} }: Config): Readonly<Record<string, PinMode | undefined>> {
  return Object.fromEntries(Object.entries(mcpServers).map(([name, server]) => [name, server.pin]));
}

// A wildcard names no tool: any tool that the server adds would fit it.
function namedOnes({ mcpServers = {} }: Config): Readonly<Record<string, readonly string[]>> {
  const exact = (names: '*' | readonly string[]): readonly string[] =>
    names === '*' ? [] : names.filter((name) => !name.includes('*'));
  return Object.fromEntries(
    Object.entries(mcpServers).flatMap(([name, { tools, skills }]) => [
      [name, exact(tools)],
      [skillsOf(name), exact(skills)],
    ]),
  );
}

interface RecordStages {
  readonly audit: AuditStage;
  readonly commit: Stage;
}

function createRecord(
  { stages }: Config,
  { store, secrets, clock, live }: Lasting,
  policyVersion: string,
): RecordStages | undefined {
  if (stages.audit === false) return undefined;
  const parts = {
    journal: store.journal,
    digestKey: secrets.digestKey,
    policyVersion,
    redact: (text: string) => live.redact(text),
    clock,
  };
  return { audit: audit(stages.audit, parts), commit: commit({ ...parts, show: stages.audit.arguments }) };
}

// Counts the calls under way, if there is no record that does.
function countCalls(tally: { underWay: number }): Stage {
  const around =
    <C extends Call>(next: Next<C>): Next<C> =>
    async (call) => {
      tally.underWay++;
      try {
        return await next(call);
      } finally {
        tally.underWay--;
      }
    };
  return { name: 'count', wrap: (_tool, next) => around(next), wrapReading: around };
}
