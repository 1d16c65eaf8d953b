import type { Metrics } from '../observe/metrics.ts';
import { watchProcess } from '../observe/process-metrics.ts';
import type { Route } from '../server/http/routes.ts';
import type { Gateway } from './create-gateway.ts';

/** The facts that the operator's routes show. */
export interface OperationParts {
  readonly gateway: Pick<Gateway, 'isReady'>;
  readonly metrics: Metrics;
}

/** The routes for operators: liveness, readiness and metrics. */
export function operationRoutes({ gateway, metrics }: OperationParts): Route[] {
  watchProcess(metrics);
  return [
    // Kubernetes and load balancers use the address of the pod or the machine.
    { path: '/healthz', access: 'public', hosts: 'any', answer: () => ({ status: 200, body: 'ok\n' }) },
    {
      path: '/readyz',
      access: 'public',
      hosts: 'any',
      answer: () =>
        gateway.isReady ? { status: 200, body: 'ready\n' } : { status: 503, body: 'not ready\n' },
    },
    {
      path: '/metrics',
      access: { scope: 'metrics' },
      answer: () => ({
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        body: metrics.text(),
      }),
    },
  ];
}
