import { z } from 'zod';
import { namingOptions } from './naming-options.ts';

const hostList = z.array(z.string().min(1));

/** Which hosts `fetch_api_data` may reach, and how. */
export const fetchApiDataOptions = z.strictObject({
  hosts: hostList
    .min(1)
    .describe('Hosts that can be reached: exact, or `*.example.com` for everything below it.'),
  hostsByTenant: z
    .record(z.string(), hostList)
    .default({})
    .describe('Hosts for single tenants, by tenant id, in place of `hosts`; an empty list means none.'),
  methods: z
    .array(z.enum(['GET', 'POST']))
    .min(1)
    .default(['GET'])
    .describe('Methods that can be used; with `POST` a call can send a body and change things.'),
  ports: z.array(z.int().min(1).max(65_535)).min(1).default([443]).describe('Ports that can be reached.'),
  trustedOrigins: z
    .array(z.string().min(1))
    .default([])
    .describe(
      'Origins, such as `http://127.0.0.1:8080`, of which neither https nor a public address is asked; their hosts must be listed, too.',
    ),
  maxBytes: z
    .int()
    .min(1)
    .max(10_485_760)
    .default(1_048_576)
    .describe('The longest answer; what goes beyond is cut off and marked.'),
  timeoutSeconds: z
    .int()
    .min(1)
    .max(60)
    .default(60)
    .describe('The longest time a call can ask for; it has 30 seconds, or this if less, unless it asks.'),
  userAgent: z
    .string()
    .min(1)
    .default('MCP-Server/1.0')
    .describe('What requests call themselves, unless a call says otherwise.'),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .describe(
      'Headers sent with every request, such as credentials; callers neither see nor change them, and other origins never get them.',
    ),
  ...namingOptions('fetch_api_data'),
});

/** Options of `fetch_api_data`, as written. */
export type FetchApiDataOptions = z.input<typeof fetchApiDataOptions>;
