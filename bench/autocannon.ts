import autocannon from 'autocannon';
import type { Load, LoadGenerator, LoadResult } from './load.ts';

/** autocannon, run inside the bench's own process. */
export const autocannonGenerator: LoadGenerator = { name: 'autocannon 7', run: runAutocannon };

async function runAutocannon({ url, request, connections, seconds }: Load): Promise<LoadResult> {
  const { headers, body } = request;
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    method: 'POST',
    headers,
    body,
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
