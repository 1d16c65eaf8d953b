import {
  type Client,
  type HttpOptions,
  type ServerOptions,
  type ToolSource,
  withStages,
} from '../../src/index.ts';
import { sanitize } from '../../src/stages.ts';
import { makeUp, open, serveSource, type Got, type MadeUp } from '../client/peers.ts';

/** A client at one end, a server at the other, and ours between them. */
export interface Bridge {
  /** The client at the near end. */
  readonly near: Client;
  /** The server at the far end, as a source. */
  readonly far: Client;
}

/** How the parts of a bridge are set up. */
export interface BridgeOptions {
  readonly near?: HttpOptions;
  readonly far?: HttpOptions;
  readonly between?: Partial<ServerOptions>;
}

/** Puts our server, with cleaning on, in front of a server at this address; all of it ends with the test. */
export async function bridge(url: string, options: BridgeOptions = {}): Promise<Bridge> {
  const far = await open(url, options.far);
  const source: ToolSource = withStages(far, [sanitize()]);
  const near = await open(await serveSource(source, { log: () => {}, ...options.between }), options.near);
  return { near, far };
}

/** The same in front of a server whose answers are made up. */
export async function bridgeTo(
  answer: (got: Got) => boolean | void,
  options: BridgeOptions = {},
): Promise<Bridge & { readonly upstream: MadeUp }> {
  const upstream = await makeUp(answer);
  return { ...(await bridge(upstream.url, options)), upstream };
}

/** Answers the requests every server with a handshake answers. */
export function answerHandshake({ body, reply, response }: Got, capabilities: object = {}): boolean {
  if (body['method'] === 'initialize') {
    const { protocolVersion } = body['params'] as { protocolVersion: string };
    const serverInfo = { name: 'far', version: '1' };
    reply({ protocolVersion, capabilities: { tools: {}, ...capabilities }, serverInfo });
    return true;
  }
  if (body['id'] !== undefined) return false;
  response.writeHead(202).end();
  return true;
}
