import autocannon from 'autocannon';
import type { Load, LoadGenerator, LoadResult } from './load.ts';
import { headersOf } from './requests.ts';

/** autocannon, run inside the bench's own process. */
export const autocannonGenerator: LoadGenerator = { name: 'autocannon 7', run: runAutocannon };

async function runAutocannon({ url, request, connections, seconds }: Load): Promise<LoadResult> {
  const { body, keys } = request;
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    method: 'POST',
    headers: headersOf(request, 0),
    body,
    ...(keys && { requests: keys.map((_key, turn) => ({ headers: headersOf(request, turn) })) }),
    timeout: 30,
  });
  return {
    requests: result.requests.total,
    perSecond: result.requests.total / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    errors: result.errors + result.timeouts + result.non2xx,
  };
}
