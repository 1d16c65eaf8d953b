import { ToolcribError } from '../../base/errors.ts';
import { readChallenge } from '../../client/sign-in/challenge.ts';
import { discover, type TokenSource } from '../../client/sign-in/discover.ts';
import { createSignInOutbound } from '../../client/sign-in/outbound.ts';
import { canonicalResource } from '../../client/sign-in/resource-metadata.ts';
import { hasTokens } from '../client/sign-in.ts';
import type { Step, Visit } from './steps.ts';
import { networkOf, openTarget, type ServerFlags, type UrlTarget } from '../client/target.ts';

const NOT_NEEDED = { skipped: 'The server asks for no sign-in.' };

/** The steps of a sign-in; none is taken where the server asks for none. */
export function signInSteps(target: UrlTarget, flags: ServerFlags, visit: Visit): readonly Step[] {
  const server = new URL(target.url);
  let place: TokenSource | undefined;
  const step = (name: string, remedy: string, run: Step['run']): Step => ({
    name,
    remedy,
    run: () => (visit.needsSignIn ? run() : Promise.resolve(NOT_NEEDED)),
  });
  return [
    step(
      'metadata',
      'The server has to publish who issues its tokens (RFC 9728); tell its operator.',
      async () => {
        const outbound = createSignInOutbound({ ...networkOf(flags), server, given: [] });
        place = await discover(server, readChallenge(visit.challenge), { outbound, limits: {} });
        return `Tokens come from ${place.issued.issuer}.`;
      },
    ),
    step('registration', 'Register a client by hand, and use toolcrib login --client-id.', async () => {
      const { registration_endpoint: endpoint } = place!.server;
      if (endpoint !== undefined) return 'Clients can register themselves.';
      if (await hasTokens(target.url, networkOf(flags)))
        return 'Clients cannot register themselves; the kept tokens are those of one that is registered.';
      throw new ToolcribError('sign_in_failed', 'Clients cannot register themselves.');
    }),
    step('audience', 'Use the address that the server publishes.', () => {
      const { resource } = place!.issued;
      const own = canonicalResource(server);
      return Promise.resolve(`Tokens are for ${resource}${resource === own ? '' : `, which covers ${own}`}.`);
    }),
    step('scopes', '', () =>
      Promise.resolve(
        place!.scopes
          ? `The server asks for ${place!.scopes.join(', ') || 'none'}.`
          : 'The server names none.',
      ),
    ),
    step('signed in', `Run toolcrib login ${target.url}`, async () => {
      visit.client = await openTarget(target, flags, {});
      return 'The kept tokens are accepted.';
    }),
  ];
}
