import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Client } from '../../client/client.ts';
import { SignInNeeded } from '../../client/errors.ts';
import { bringsCredential, describeFailure, reasonFor } from '../../client/http/failure.ts';
import { mayHave } from '../../client/opening/handshake.ts';
import type { ListedTool } from '../../core/tool.ts';
import { environmentProxies, proxyFor } from '../../net/proxies.ts';
import { signInSteps } from './sign-in-steps.ts';
import {
  certificates,
  headersFor,
  openTarget,
  type ServerFlags,
  type Target,
  type UrlTarget,
} from '../client/target.ts';

/** One thing to try. */
export interface Step {
  readonly name: string;
  /** What to do if it fails. */
  readonly remedy: string;
  /** The finding, or why there was nothing to try; a failure is thrown. */
  readonly run: () => Promise<string | { readonly skipped: string }>;
}

/** The findings of earlier steps, for later ones. */
export interface Visit {
  client?: Client;
  /** The challenge of a server that requires a sign-in. */
  challenge?: string | undefined;
  needsSignIn: boolean;
  tools: readonly ListedTool[];
}

const LIMIT_MS = 10_000;

/** The steps for a server, in order; `close` ends what they leave open. */
export function stepsFor(
  target: Target,
  flags: ServerFlags,
): { readonly steps: readonly Step[]; readonly close: () => Promise<void> } {
  const visit: Visit = { needsSignIn: false, tools: [] };
  const close = async (): Promise<void> => visit.client?.close();
  const talking = [eraStep(visit), listStep(visit), callStep(visit)];
  if (target.kind === 'command') return { steps: [programStep(target, flags, visit), ...talking], close };
  const url = new URL(target.url);
  const steps = [
    dnsStep(url),
    tlsStep(url, flags),
    transportStep(target, flags, visit),
    ...signInSteps(target, flags, visit),
    ...talking,
  ];
  return { steps, close };
}

function dnsStep(url: URL): Step {
  const host = url.hostname.replaceAll(/[[\]]/g, '');
  return {
    name: 'name',
    remedy: 'Check the spelling of the address, the network and its name server.',
    async run() {
      if (proxyFor(url, environmentProxies(process.env)))
        return { skipped: `A proxy of the environment looks ${host} up.` };
      if (isIP(host) > 0) return { skipped: `${host} is an address already.` };
      try {
        const found = await lookup(host, { all: true });
        return `${host} is at ${found.map(({ address }) => address).join(', ')}.`;
      } catch (cause) {
        throw new ToolcribError('upstream_unavailable', `${host} has no address.`, { cause });
      }
    },
  };
}

function tlsStep(url: URL, flags: ServerFlags): Step {
  return {
    name: 'TLS',
    remedy: 'Renew the certificate at the server, name its authority with --ca, or correct the address.',
    async run() {
      if (url.protocol !== 'https:')
        return { skipped: 'The address begins with http://, so nothing is encrypted.' };
      const socket = await encryptedSocket(url, flags);
      try {
        const { valid_to: until, issuer } = socket.getPeerCertificate();
        return `${socket.getProtocol() ?? 'TLS'}; the certificate of ${[issuer.O ?? issuer.CN].flat()[0] ?? 'nobody'} is good until ${until}.`;
      } finally {
        socket.destroy();
      }
    },
  };
}

async function encryptedSocket(url: URL, flags: ServerFlags): Promise<TLSSocket> {
  const host = url.hostname.replaceAll(/[[\]]/g, '');
  const { ca, certificate } = certificates(flags);
  const proxy = proxyFor(url, environmentProxies(process.env));
  if (proxy) {
    const { openTunnel } = await import('../../net/open-tunnel.ts');
    const opening = openTunnel(url, { proxy, timeoutMs: LIMIT_MS, ca, certificate });
    return (await opening.catch((error: unknown) => {
      throw describeFailure(error, host);
    })) as TLSSocket;
  }
  const socket = connect({
    host,
    port: Number(url.port || 443),
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca }),
    ...certificate,
  });
  await secured(socket, host);
  return socket;
}

function secured(socket: TLSSocket, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string, cause?: unknown): void => {
      socket.destroy();
      reject(new ToolcribError('upstream_unavailable', `${host}: ${reason}.`, { cause }));
    };
    socket.setTimeout(LIMIT_MS, () => fail('no encrypted connection within 10 s'));
    socket.once('secureConnect', resolve);
    socket.once('error', (error: Error) => fail(reasonFor(error) ?? error.message, error));
  });
}

function transportStep(target: UrlTarget, flags: ServerFlags, visit: Visit): Step {
  return {
    name: 'transport',
    remedy:
      'See whether the server is running, whether the path of the address is that of its MCP endpoint, and whether a credential is the right one.',
    async run() {
      const authorizer = {
        headers: () => ({}),
        challenged: ({ wwwAuthenticate }: { readonly wwwAuthenticate: string | undefined }) => {
          visit.challenge = wwwAuthenticate;
          return Promise.reject(new SignInNeeded('The server wants to know who is calling.', ''));
        },
        close: () => Promise.resolve(),
      };
      const isKnown = bringsCredential(headersFor(target, flags));
      try {
        // A credential that was given is used from the start.
        visit.client = await openTarget(target, flags, isKnown ? {} : { authorizer });
        return 'The server answers over HTTP.';
      } catch (error) {
        if (isKnown || !(error instanceof SignInNeeded)) throw error;
        visit.needsSignIn = true;
        return 'The server answers over HTTP, and wants to know who is calling.';
      }
    },
  };
}

function programStep(target: Target, flags: ServerFlags, visit: Visit): Step {
  return {
    name: 'program',
    remedy:
      'Run the command by itself: it has to start, and to print nothing but messages to standard output.',
    async run() {
      visit.client = await openTarget(target, flags, {});
      return 'The program was started and answers.';
    },
  };
}

function eraStep(visit: Visit): Step {
  return {
    name: 'protocol',
    remedy: 'Update the server or this client.',
    run() {
      const { protocolVersion, era, info } = visit.client!.server;
      const name = info ? `${info.name} ${info.version}` : 'The server';
      return Promise.resolve(
        `${name} speaks ${protocolVersion} (${era === 'modern' ? 'without' : 'with'} a handshake).`,
      );
    },
  };
}

function listStep(visit: Visit): Step {
  return {
    name: 'tools',
    remedy: 'See the log of the server: a list that cannot be read is of no use to any client.',
    async run() {
      if (!mayHave(visit.client!.server, 'tools')) return { skipped: 'The server has no tools.' };
      visit.tools = await visit.client!.listTools();
      return `${visit.tools.length} tools.`;
    },
  };
}

function callStep(visit: Visit): Step {
  return {
    name: 'call',
    remedy: 'See the log of the server, or call the tool with toolcrib call.',
    async run() {
      const tool = visit.tools.find(isHarmless);
      if (!tool)
        return { skipped: 'No tool is said to be read-only and needs no arguments, so none was called.' };
      (await visit.client!.callTool(tool.name, {}, { timeoutMs: LIMIT_MS })).unwrap();
      return `${tool.name} was called and answered.`;
    },
  };
}

function isHarmless({ annotations, inputSchema }: ListedTool): boolean {
  const required: unknown = isObject(inputSchema) ? inputSchema['required'] : undefined;
  return annotations?.readOnlyHint === true && !(Array.isArray(required) && required.length > 0);
}
