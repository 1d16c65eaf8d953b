export { approve, approveOptions, type ApproveParts } from './stages/approve/approve.ts';
export type {
  Decision,
  DecisionRequest,
  GrantScope,
  OnToolCall,
  SafetyMode,
} from './stages/approve/decision.ts';
export { Grants, type Grant, type GrantRequest } from './stages/approve/grants.ts';
export type { Subject } from './stages/fingerprint.ts';
export type { Approval, ApprovalDecision, ApprovalRequest, Approvals } from './core/memory/approval.ts';
export { audit, auditOptions, type AuditParts, type AuditStage } from './stages/record/audit.ts';
export { createAccess, type Access, type AccessParts } from './stages/access/authorize.ts';
export type { AccessComplaint } from './stages/access/check.ts';
export { accessOptions, accessRule } from './stages/access/rules.ts';
export { cache, cacheOptions, type CacheParts } from './stages/cache/cache.ts';
export { ResultCache, type CacheLimits, type KeptResult } from './stages/cache/result-cache.ts';
export { circuitBreak, circuitBreakOptions, type CircuitBreakParts } from './stages/limits/circuit-break.ts';
export { Breakers, type BreakerState } from './stages/limits/breakers.ts';
export { commit, type CommitParts } from './stages/record/commit.ts';
export type { ArgumentsShown } from './stages/record/audit-row.ts';
export { concurrency, concurrencyOptions, type ConcurrencyParts } from './stages/limits/concurrency.ts';
export { Slots } from './stages/limits/slots.ts';
export {
  idempotency,
  idempotencyKey,
  idempotencyOptions,
  RunningKeys,
  type IdempotencyParts,
} from './stages/idempotency.ts';
export { metrics, metricsOptions, type MetricsParts } from './stages/metrics.ts';
export { Metrics } from './observe/metrics.ts';
export { watchProcess } from './observe/process-metrics.ts';
export { pin, pinMode, pinOptions, type PinMode, type PinParts } from './stages/pin/pin.ts';
export { PinBook, type PinBookParts, type PinRule, type Verdict } from './stages/pin/pin-book.ts';
export type {
  Pin,
  PinApproval,
  PinDigests,
  PinnedDefinition,
  PinPlace,
  Pins,
  SeenDefinition,
} from './store/pin.ts';
export { rateLimit, rateLimitOptions, type RateLimitParts } from './stages/limits/rate-limit.ts';
export { Buckets } from './stages/limits/buckets.ts';
export { retry, retryOptions, type RetryParts } from './stages/retry.ts';
export { sanitize, sanitizeOptions, type SanitizeParts } from './stages/cleaning/sanitize.ts';
export { sanitizeInput, sanitizeInputOptions } from './stages/cleaning/sanitize-input.ts';
export { Secrets } from './observe/secrets.ts';
export { timeout, timeoutOptions, type TimeoutParts } from './stages/timeout.ts';
export { validateInput, validateOutput } from './core/essentials/validate.ts';
export { createInMemoryStore, type InMemoryStore, type InMemoryStoreParts } from './store/memory/store.ts';
export type { Committed, Entry, Journal, Quotas, Reservations, Reserved, Store } from './store/store.ts';
