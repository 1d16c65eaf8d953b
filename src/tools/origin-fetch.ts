import type { OutboundClient } from '../net/create-outbound-client.ts';
import type { Fetch } from '../net/outbound.ts';

const LIMITS = { maxRedirects: 0, timeoutMs: 30_000, maxBytes: 8 * 1_048_576 };

/**
 * A `fetch` that reaches the origin of one API only and follows no redirect, so that credentials stay there. An unusual
 * origin was chosen by the operator, so it may be inside the network.
 */
export function originFetch(baseUrl: string, usualHost: string): Fetch {
  const { origin } = new URL(baseUrl);
  const reach =
    origin === `https://${usualHost}` ? { hosts: [usualHost] } : { hosts: [], trustedOrigins: [origin] };
  let client: Promise<OutboundClient> | undefined;
  return async (url, init) => {
    client ??= import('../net/create-outbound-client.ts').then(({ createOutboundClient }) =>
      createOutboundClient({ ...LIMITS, ...reach }),
    );
    return (await client).fetch(url, init);
  };
}
