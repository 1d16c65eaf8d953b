import canonicalize from 'canonicalize';
import * as fc from 'fast-check';
import { modernMeta } from '../client.ts';
import { openGoverned } from '../governed.ts';
import { propertyFiles, tryFiles } from '../property-files.ts';
import type { Outcome, RunOptions, Scenario } from '../scenario.ts';

/** What must hold for every input, tried on very many. */
export const properties: Scenario = {
  id: 'R22',
  title: 'the canonical form is stable, and a header is accepted exactly when it matches the body',
  async run(options) {
    const site = await openGoverned();
    try {
      const own = await check(options, {
        canonical: (value) => canonicalize(value) ?? '',
        ask: (request) => site.server.fetch(request),
      });
      return options.counts === 'full' ? await withFiles(options, own) : own;
    } finally {
      await site.close();
    }
  },
  control: (options) =>
    check(options, {
      canonical: (value) => JSON.stringify(value),
      ask: async () => Response.json({ result: {} }),
    }),
};

// In short these tests are run by themselves, with the others.
async function withFiles({ report }: RunOptions, own: Outcome): Promise<Outcome> {
  const failures = [...own.failures];
  const counts = [own.counts];
  for (const group of propertyFiles) {
    failures.push(...(await tryFiles(group)));
    counts.push(`${group.files.length} files with ${group.runs} a property`);
    report(`${group.runs} cases a property: ${group.files.join(', ')}`);
  }
  return { counts: counts.join(', '), failures };
}

interface Subject {
  readonly canonical: (value: unknown) => string;
  readonly ask: (request: Request) => Promise<Response>;
}

async function check({ seed, counts, report }: RunOptions, { canonical, ask }: Subject): Promise<Outcome> {
  const numRuns = counts === 'full' ? 100_000 : 1_000;
  const stable = fc.property(
    fc.jsonValue(),
    fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
    (value, order) => {
      const text = canonical(value);
      return (
        text === canonical(JSON.parse(text)) &&
        text === canonical(reordered(JSON.parse(JSON.stringify(value)), order))
      );
    },
  );
  const mirrored = fc.asyncProperty(name, header, async (named, written) => {
    const { sent, means } = written(named);
    const response = await ask(callOf(named, sent));
    const { error } = (await response.json()) as { error?: { code: number } };
    return (error?.code !== HEADER_MISMATCH) === (means === named);
  });
  const failures: string[] = [];
  const outcomes = [
    ['the canonical form', fc.check(stable, { numRuns, seed })],
    ['headers and body', await fc.check(mirrored, { numRuns, seed })],
  ] as const;
  for (const [what, { failed, numRuns: tried, counterexample }] of outcomes) {
    report(`${what}: ${tried} cases`);
    if (failed) failures.push(`${what}: ${JSON.stringify(counterexample)?.slice(0, 300)}`);
  }
  return { counts: `2 x ${numRuns} cases`, failures };
}

const HEADER_MISMATCH = -32_020;

// Names that a header can carry as they are, and names that it cannot.
const name = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9_.-]{1,12}$/),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }).filter((text) => !/\p{Surrogate}/u.test(text)),
  fc.constantFrom('echo', 'Echo', 'echo ', 'écho', '=?base64?ZWNobw==?=', '\u202eecho'),
);

interface Written {
  readonly sent: string;
  /** What a strict reader makes of it; `undefined` when it is not to be read at all. */
  readonly means: string | undefined;
}

const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;
const isPlain = (text: string): boolean =>
  /^[\x21-\x7e]+(?: +[\x21-\x7e]+)*$/.test(text) && !/^=\?base64\?.*\?=$/.test(text);
const header = fc.oneof(
  fc.constant((named: string): Written =>
    isPlain(named) ? { sent: named, means: named } : { sent: encoded(named), means: named },
  ),
  fc.constant((named: string): Written => ({ sent: encoded(named), means: named })),
  fc.constant((named: string): Written => ({ sent: encoded(`${named}x`), means: `${named}x` })),
  fc.constant((named: string): Written => ({
    sent: isPlain(named) ? ` ${named}\t` : encoded(named),
    means: named,
  })),
  fc.constant((): Written => ({ sent: '=?base64?ZWNoby==?=', means: undefined })),
  fc.constant((): Written => ({ sent: '=?base64?/w==?=', means: undefined })),
  fc.stringMatching(/^[a-zA-Z0-9_.-]{1,12}$/).map((text) => (): Written => ({ sent: text, means: text })),
);

function callOf(named: string, sent: string): Request {
  const params = { name: named, arguments: { nonce: 'x' }, _meta: modernMeta };
  return new Request('http://127.0.0.1/mcp', {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    headers: {
      host: '127.0.0.1',
      'content-type': 'application/json',
      accept: 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': sent,
    },
  });
}

function reordered(value: unknown, order: Iterator<number>): unknown {
  if (Array.isArray(value)) return value.map((item) => reordered(item, order));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => ({
    key,
    item,
    place: order.next().value as number,
  }));
  return Object.fromEntries(
    entries.toSorted((a, b) => a.place - b.place).map(({ key, item }) => [key, reordered(item, order)]),
  );
}
