import { once } from 'node:events';
import { createClientSignIn } from '../src/client/sign-in/sign-in.ts';
import { fileCredentials } from '../src/client/sign-in/file-credentials.ts';
import { protectedCall } from './protected-call.ts';

// A process with tokens from a folder, which calls when it is told to.
const [url, folder] = process.argv.slice(2) as [string, string];
const signIn = createClientSignIn({ server: url, store: await fileCredentials(folder) });
await signIn.headers({ url, method: 'POST' });
process.stdout.write('ready.\n');
await once(process.stdin, 'data');
const outcome = await protectedCall(signIn, url);
process.stdout.write(`answered ${typeof outcome === 'number' ? outcome : outcome.kind}.\n`);
await signIn.close();
process.stdin.destroy();
