import { ToolcribError } from '../base/errors.ts';
import { Client } from './client.ts';
import { HttpTransport } from './http/http-transport.ts';
import type { HttpOptions } from './options.ts';

/** Connects to a server over HTTP. */
export async function connect(url: string | URL, options: HttpOptions = {}): Promise<Client> {
  const address = readAddress(url);
  const client = new Client({
    options,
    address: address.href,
    // A slow server is waited for: only its answer says what it speaks.
    probeMs: undefined,
    transport: (needs) => new HttpTransport({ url: address, options, ...needs }),
  });
  await client.open();
  return client;
}

function readAddress(url: string | URL): URL {
  const address = URL.canParse(String(url)) ? new URL(url) : undefined;
  if (!address || !/^https?:$/.test(address.protocol))
    throw new ToolcribError('invalid_setup', 'A server is reached at an http or https address.');
  if (address.username !== '' || address.password !== '')
    throw new ToolcribError('invalid_setup', 'Put credentials into "headers", not into the address.');
  address.hash = '';
  return address;
}
