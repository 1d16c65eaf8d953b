import { createInterface } from 'node:readline';
import { ToolcribError } from '../../base/errors.ts';
import { SignInNeeded } from '../../client/errors.ts';
import type { SignInOptions } from '../../client/sign-in/options.ts';
import type { ClientSignIn } from '../../client/sign-in/sign-in.ts';
import { withoutConcealed } from '../complain.ts';
import { formatJson, printable } from '../table.ts';
import { hasBrowser, openBrowser } from './browser.ts';
import { createUserSignIn } from './sign-in.ts';
import { findTarget, headersFor, networkOf, openTarget, type ServerFlags, type UrlTarget } from './target.ts';
import { reportFailure } from './with-client.ts';

/** Options of `toolcrib login` and `toolcrib logout`. */
export interface LoginFlags extends ServerFlags {
  readonly browser?: boolean;
  readonly clientId?: string;
  readonly scope?: readonly string[];
}

const PASTE_MS = 600_000;

/** `toolcrib login`: signs in to a server, in a browser here or elsewhere. */
export function login(name: string, flags: LoginFlags): Promise<void> {
  return withSignIn(name, flags, async (signIn, target) => {
    const { url } = target;
    if ('authorization' in headersFor(target, flags))
      throw new ToolcribError(
        'invalid_setup',
        `The entry of "${name}" has an Authorization of its own, which goes before a sign-in; take it out first.`,
      );
    try {
      await tryOut(target, signIn, flags);
    } catch (error) {
      if (!(error instanceof SignInNeeded) || error.url === undefined) throw error;
      process.stderr.write(`Open this page in a browser and sign in:\n\n  ${error.url}\n\n${PASTE}\n`);
      await signIn.finish(await pastedLine());
      await tryOut(target, signIn, flags);
    }
    // Many servers let anybody list their tools.
    const isSignedIn = 'authorization' in (await signIn.headers({ url, method: 'POST' }));
    const said = isSignedIn
      ? `Signed in to ${shown(url)}.`
      : `${shown(url)} lists its tools without a sign-in, so there was none.`;
    process.stdout.write(
      flags.json ? formatJson({ server: withoutConcealed(url), signedIn: isSignedIn }) : `${said}\n`,
    );
  });
}

/** `toolcrib logout`: forgets the tokens of a server, and tells who gave them. */
export function logout(name: string, flags: LoginFlags): Promise<void> {
  return withSignIn(name, flags, async (signIn, { url }) => {
    const wasSignedIn = await signIn.signOut();
    const said = `${wasSignedIn ? 'Signed out of' : 'Nobody was signed in to'} ${shown(url)}.\n`;
    process.stdout.write(flags.json ? formatJson({ server: withoutConcealed(url), wasSignedIn }) : said);
  });
}

// It may hold a value of the environment.
function shown(url: string): string {
  return printable(withoutConcealed(url));
}

const PASTE =
  'The browser ends up at an address of this machine that shows nothing. Paste that address here:';

async function withSignIn(
  name: string,
  flags: LoginFlags,
  use: (signIn: ClientSignIn, target: UrlTarget) => Promise<void>,
): Promise<void> {
  try {
    const target = await findTarget({ name, command: [], flags });
    if (target.kind !== 'url')
      throw new ToolcribError('invalid_setup', `"${name}" is a program, which needs no sign-in here.`);
    const signIn = await createUserSignIn(target.url, signInOptions(flags));
    try {
      await use(signIn, target);
    } finally {
      await signIn.close();
    }
  } catch (error) {
    reportFailure(error, flags, name);
  }
}

function signInOptions({ browser = true, clientId, scope, ca }: LoginFlags): Partial<SignInOptions> {
  return {
    network: networkOf({ ...(ca !== undefined && { ca }) }),
    ...(browser && hasBrowser() && { open: openPage }),
    ...(clientId !== undefined && { client: { id: clientId } }),
    ...(scope && { scopes: scope }),
  };
}

async function openPage(url: string): Promise<void> {
  process.stderr.write(`Your browser opens this page; sign in there:\n\n  ${url}\n`);
  await openBrowser(url);
}

async function tryOut(target: UrlTarget, authorizer: ClientSignIn, flags: LoginFlags): Promise<void> {
  // It is closed with the command, not with this connection.
  const unclosed = {
    headers: authorizer.headers.bind(authorizer),
    challenged: authorizer.challenged.bind(authorizer),
    close: () => Promise.resolve(),
  };
  const client = await openTarget(target, flags, { authorizer: unclosed });
  try {
    await client.listTools();
  } finally {
    await client.close();
  }
}

async function pastedLine(): Promise<string> {
  const lines = createInterface({ input: process.stdin });
  const limit = setTimeout(() => lines.close(), PASTE_MS);
  try {
    for await (const line of lines) if (line.trim() !== '') return line.trim();
  } finally {
    clearTimeout(limit);
    lines.close();
  }
  throw new SignInNeeded('Nobody pasted an address.', 'Sign in again.');
}
