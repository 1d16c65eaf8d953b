import { z } from 'zod';

const pair = z.strictObject({
  name: z.string().min(1).max(100).describe('Its name.'),
  value: z.string().min(1).describe('Its value, such as `${API_KEY}`.'),
});

const credential = z
  .strictObject({
    bearer: z.string().min(1).exactOptional().describe('A token, such as `${API_TOKEN}`.'),
    header: pair.exactOptional().describe('A header that holds the key.'),
    query: pair.exactOptional().describe('A query parameter that holds the key.'),
    basic: z
      .strictObject({
        username: z.string().min(1).describe('The name.'),
        password: z.string().describe('The password, such as `${API_PASSWORD}`.'),
      })
      .exactOptional()
      .describe('A name and a password.'),
  })
  .refine((one) => Object.keys(one).length === 1, 'must be one of bearer, header, query and basic')
  .describe('What this server shows to the API, in one of four ways. Callers never see it.');

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be the name of a header');
const headerValue = z.string().regex(/^[\t\x20-\x7e]*$/, 'must be one line of plain characters');

/** Which operations of an OpenAPI description become tools, and how they are named and called. */
export const openApiOptions = z.strictObject({
  operations: z
    .array(z.string().min(1))
    .min(1)
    .default(['*'])
    .describe('Which operations to offer: patterns for operation ids or for `METHOD /path`.'),
  exclude: z
    .array(z.string().min(1))
    .default([])
    .describe('Which of those to leave out, by the same patterns.'),
  prefix: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}$/, 'must be at most 32 letters, digits, "_" and "-"')
    .exactOptional()
    .describe('What every name begins with, such as `github_`.'),
  server: z
    .string()
    .min(1)
    .exactOptional()
    .describe(
      'The address of the API, such as `https://api.example/v1`; the first server described unless set.',
    ),
  otherServers: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Further addresses, such as `https://uploads.example`, for operations that name one as their own server; they get the credential, too.',
    ),
  trustServer: z
    .boolean()
    .default(false)
    .describe('Whether these addresses may be plain http or inside a private network.'),
  credential: credential.exactOptional(),
  headers: z
    .record(headerName, headerValue)
    .default({})
    .describe('Headers sent with every call; callers can neither see nor change them.'),
  timeoutSeconds: z.number().positive().max(600).default(30).describe('The longest wait for an answer.'),
  maxBytes: z
    .int()
    .min(1_024)
    .max(67_108_864)
    .default(1_048_576)
    .describe('The longest answer that is read.'),
});

/** The same for a configuration, which names the file. */
export const openApiEntry = z.strictObject({
  file: z
    .string()
    .min(1)
    .describe('The OpenAPI description, JSON or YAML; relative to this file. Nothing is downloaded.'),
  ...openApiOptions.shape,
});

/** The options with every default filled in. */
export type OpenApiSettings = z.output<typeof openApiOptions>;
