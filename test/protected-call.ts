import type { Authorizer, NeedsSignIn } from '../src/client/sign-in/authorizer.ts';

/** Sends a request the way a client does: with credentials, and again after a challenge. */
export async function protectedCall(authorizer: Authorizer, url: string): Promise<number | NeedsSignIn> {
  for (let retries = 0; ; retries++) {
    const sent = await authorizer.headers({ url, method: 'POST', body: '{}' });
    const response = await fetch(url, { method: 'POST', body: '{}', headers: sent });
    await response.text();
    if (response.status !== 401 && response.status !== 403) return response.status;
    const outcome = await authorizer.challenged({
      status: response.status,
      wwwAuthenticate: response.headers.get('www-authenticate') ?? undefined,
      dpopNonce: response.headers.get('dpop-nonce') ?? undefined,
      url,
      method: 'POST',
      sent,
      retries,
    });
    if (outcome !== 'retry') return outcome;
  }
}
