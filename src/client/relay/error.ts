import { rowOf, ToolcribError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Call } from '../../core/call.ts';
import { canDo, capabilitiesFor } from '../../core/requirement.ts';
import type { Requirement } from '../../core/tool.ts';
import { RemoteError } from '../errors.ts';

/**
 * A failure of another server, as the error a relayed call ends with. Its own errors pass with number, message and
 * data. What it says of the connection to it, such as its address or the headers it wants, is for the operator.
 */
export function relayedError(error: unknown, call: Call, name: string): unknown {
  if (error instanceof RemoteError) return remoteEnding(error, call, name);
  if (!(error instanceof ToolcribError) || error.code === 'cancelled') return error;
  const said = SAID[error.code];
  return said === undefined ? error : new ToolcribError(error.code, `${name} ${said}`, { cause: error });
}

// The client's own texts for these contain the address of the server, or its output.
const SAID: Readonly<Partial<Record<ToolcribError['code'], string>>> = {
  upstream_unavailable: 'is not available; try again later.',
  timed_out: 'did not answer in time.',
  invalid_answer: 'sent an answer that cannot be read.',
  needs_sign_in: 'needs its operator to sign in.',
  sign_in_failed: 'needs its operator to sign in.',
  refused: 'does not accept the connection as it is set up; its operator has to look at it.',
  busy: 'takes no more calls at the moment; try again later.',
};

// They speak of the request that this side made, which the client knows nothing of.
const ABOUT_THE_CONNECTION: ReadonlySet<number | undefined> = new Set([-32020, -32021, -32022]);

function remoteEnding(error: RemoteError, call: Call, name: string): ToolcribError {
  const { number, message, data, remote } = error;
  if (number === -32021) return missingCapability(error, call, name);
  if (ABOUT_THE_CONNECTION.has(number)) return fault(error, name);
  // Each revision has its own number for this one.
  if (call.kind === 'resource' && isAboutResource(error))
    return new ToolcribError('unknown_resource', message, { ...(data && { data }) });
  return new ToolcribError('remote_error', message, {
    ...(number !== undefined && { number }),
    ...(data && { data }),
    remote,
  });
}

function isAboutResource({ number, data }: RemoteError): boolean {
  return number === -32002 || (number === -32602 && typeof data?.['uri'] === 'string');
}

// The server got the capabilities of the client. One it misses is missing there; any other is a mistake of this side.
function missingCapability(error: RemoteError, { client }: Call, name: string): ToolcribError {
  const required = isObject(error.data?.['requiredCapabilities']) ? error.data['requiredCapabilities'] : {};
  const missing = REQUIREMENTS.filter(
    (requirement) => canDo(required, requirement) && !canDo(client.capabilities, requirement),
  );
  if (missing.length === 0) return fault(error, name);
  return new ToolcribError(
    'missing_capability',
    `This needs a client that can do ${missing.join(' and ')}.`,
    {
      data: { requiredCapabilities: capabilitiesFor(missing) },
    },
  );
}

const REQUIREMENTS: readonly Requirement[] = ['elicitation', 'elicitation.url', 'sampling', 'roots', 'tasks'];

function fault(error: RemoteError, name: string): ToolcribError {
  const text = `${name} refused how it was asked (${error.number}); its connection needs its operator.`;
  return new ToolcribError('internal', text, { cause: error, number: rowOf('internal').number! });
}
