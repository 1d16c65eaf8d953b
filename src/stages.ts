export { approve, approveOptions } from './stages/approve.ts';
export type { ApproveParts } from './stages/ask-operator.ts';
export type { Approval, ApprovalDecision, ApprovalRequest, Approvals } from './core/approval.ts';
export { audit, auditOptions, type AuditParts, type AuditStage } from './stages/audit.ts';
export { createAccess, type Access, type AccessParts } from './stages/authorize.ts';
export type { AccessComplaint } from './stages/access-check.ts';
export { accessOptions, accessRule } from './stages/access-rules.ts';
export { cache, cacheOptions, type CacheParts } from './stages/cache.ts';
export { ResultCache, type CacheLimits, type KeptResult } from './stages/result-cache.ts';
export { circuitBreak, circuitBreakOptions, type CircuitBreakParts } from './stages/circuit-break.ts';
export { Breakers, type BreakerState } from './stages/breakers.ts';
export { commit, type CommitParts } from './stages/commit.ts';
export type { ArgumentsShown } from './stages/audit-row.ts';
export { concurrency, concurrencyOptions, type ConcurrencyParts } from './stages/concurrency.ts';
export { Slots } from './stages/slots.ts';
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
export { rateLimit, rateLimitOptions, type RateLimitParts } from './stages/rate-limit.ts';
export { Buckets } from './stages/buckets.ts';
export { retry, retryOptions, type RetryParts } from './stages/retry.ts';
export { sanitize, sanitizeOptions, type SanitizeParts } from './stages/sanitize.ts';
export { sanitizeInput, sanitizeInputOptions } from './stages/sanitize-input.ts';
export { Secrets } from './observe/secrets.ts';
export { timeout, timeoutOptions, type TimeoutParts } from './stages/timeout.ts';
export { validateInput, validateOutput } from './core/validate.ts';
export { createInMemoryStore, type InMemoryStore, type InMemoryStoreParts } from './store/in-memory-store.ts';
export type { Committed, Entry, Journal, Quotas, Reservations, Reserved, Store } from './store/store.ts';
