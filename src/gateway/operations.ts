import type { Metrics } from '../observe/metrics.ts';
import { watchProcess } from '../observe/process-metrics.ts';
import type { Route } from '../server/http/routes.ts';
import type { Gateway } from './create-gateway.ts';

/** What the operator's routes show. */
export interface OperationParts {
  readonly gateway: Pick<Gateway, 'isReady'>;
  readonly metrics: Metrics;
}

/** The routes for whoever runs the server: whether it lives, whether it takes calls, and what it counts. */
export function operationRoutes({ gateway, metrics }: OperationParts): Route[] {
  watchProcess(metrics);
  return [
    { path: '/healthz', access: 'public', answer: () => ({ status: 200, body: 'ok\n' }) },
    {
      path: '/readyz',
      access: 'public',
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
