import { isLoopback } from '../../base/loopback.ts';
import { z } from 'zod';

/** Where to listen. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/** Parses HOST:PORT or PORT; an IPv6 host is in brackets. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:(\[[0-9a-fA-F:.]+\]|[^:\s]+):)?(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match || port > 65_535) return undefined;
  return { host: (match[1] ?? '127.0.0.1').replace(/^\[|\]$/g, ''), port };
}

const listen = z
  .union([z.string(), z.int()])
  .transform((text, context): Address => {
    const address = parseAddress(String(text));
    if (address) return address;
    context.addIssue({ code: 'custom', message: 'must be HOST:PORT or PORT, such as 127.0.0.1:8484' });
    return z.NEVER;
  })
  .prefault('127.0.0.1:8484')
  .describe(
    'Where to listen: HOST:PORT, or PORT on this machine alone. Beyond this machine `auth` is needed.',
  );

const publicUrl = z
  .string()
  .refine(isPublicOrigin, 'must be an https URL without a path, such as https://tools.example')
  .transform((text) => new URL(text).origin)
  .describe(
    'The origin clients reach this server by, such as `https://tools.example`; http only for this machine. With `auth.jwt`, clients are told where to get a token only if it is set.',
  );

/** `server`: how the server presents itself and where it listens. */
export const serverSection = z.strictObject({
  name: z.string().min(1).max(100).default('toolcrib').describe('The name the server gives itself.'),
  version: z
    .string()
    .min(1)
    .max(100)
    .exactOptional()
    .describe('The version the server gives itself; that of Toolcrib unless set.'),
  title: z.string().min(1).max(200).exactOptional().describe('The name shown to people.'),
  instructions: z
    .string()
    .max(10_000)
    .exactOptional()
    .describe('A hint for the model on how to use these tools together.'),
  listen,
  path: z
    .string()
    .regex(/^\/[\w.~/-]*$/, 'must begin with "/" and hold no query, such as /mcp')
    .default('/mcp')
    .describe('The path of the endpoint.'),
  publicUrl: publicUrl.exactOptional(),
  allowedHosts: z
    .array(
      z
        .string()
        .regex(/^[^\s/@?#*]+$/, 'must be a host name as clients send it, such as tools.example:8484')
        .toLowerCase(),
    )
    .min(1)
    .exactOptional()
    .describe('`Host` values taken, with the port unless it is 80 or 443; that of `publicUrl` unless set.'),
  allowedOrigins: z
    .array(z.string().refine(isOrigin, 'must be an origin without a path, such as https://app.example'))
    .exactOptional()
    .describe('Web pages that may call, such as `https://app.example`.'),
  sse: z
    .boolean()
    .default(false)
    .describe('Also serve the first HTTP transport, of 2024-11-05, at `/sse` and `/messages`.'),
  maxBodyBytes: z
    .int()
    .min(1_024)
    .max(67_108_864)
    .default(1_048_576)
    .describe('The largest message taken over HTTP.'),
  maxConnections: z
    .int()
    .min(1)
    .default(10_000)
    .describe(
      'How many connections there may be at once; a few more are taken for `/healthz` and `/readyz` alone.',
    ),
  requestsPerMinute: z
    .int()
    .min(60)
    .default(6_000)
    .describe(
      'How many requests that are no calls (handshakes, lists, subscriptions, what is malformed and the like) each caller may send a minute; a handshake counts as ten.',
    ),
  pageSize: z
    .int()
    .min(1)
    .max(10_000)
    .default(1_000)
    .describe('How many entries a page of a list has; many clients read only the first page.'),
  jsonText: z
    .enum(['pretty', 'compact'])
    .default('pretty')
    .describe('How structured data looks as text: indented, or as short as possible.'),
  delivery: z
    .enum(['direct', 'queued'])
    .default('direct')
    .describe(
      'How results reach clients with a session: with the request, or on the stream that the session has of its own.',
    ),
  publish: z
    .boolean()
    .default(false)
    .describe('Lets tools hand out large results by link (`ctx.publish`); the server then offers resources.'),
  invalidArguments: z
    .enum(['result', 'protocol'])
    .default('result')
    .describe(
      'Who hears of arguments that break the schema: the model, by a result it can act on, or the client program, by a JSON-RPC error.',
    ),
  errorCodes: z
    .strictObject({
      toolNotFound: z.int().exactOptional().describe('For a tool that is not there; -32602 unless set.'),
      invalidArguments: z
        .int()
        .exactOptional()
        .describe(
          'For arguments that break the schema, with `invalidArguments: protocol`; -32602 unless set.',
        ),
    })
    .exactOptional()
    .describe('JSON-RPC numbers for clients that know others than those of the protocol.'),
  onInvalidOutput: z
    .enum(['fail', 'strip'])
    .default('fail')
    .describe(
      'What becomes of a result that breaks its output schema: the call fails, or the result goes out as text, without the data.',
    ),
  drainSeconds: z
    .number()
    .min(0)
    .max(3_600)
    .default(30)
    .describe('How long calls under way may take to finish when the server stops.'),
});

/** `store`: where keys, tenants, the record and everything else that lasts is kept. */
export const storeSection = z.strictObject({
  url: z
    .string()
    .regex(/^(?:memory:|sqlite:\S.*)$/, 'must be "sqlite:" and a path, or "memory:"')
    .default('sqlite:./toolcrib.db')
    .describe('`sqlite:PATH`, relative to this file, or `memory:`, which forgets everything at the end.'),
  secrets: z
    .string()
    .min(1)
    .default('./toolcrib.secrets')
    .describe('The file with secrets this server makes for itself; made, for its owner alone, when absent.'),
});

/** `log`: what is written to standard error. */
export const logSection = z.strictObject({
  level: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('The least important entries that are still written.'),
});

function isPublicOrigin(text: string): boolean {
  const url = parseUrl(text);
  if (!url || url.pathname !== '/' || url.search || url.hash || url.username || url.password) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}

function isOrigin(text: string): boolean {
  const url = parseUrl(text);
  return url !== undefined && /^https?:$/.test(url.protocol) && url.origin === text;
}

function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
