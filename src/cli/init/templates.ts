/** The kinds of first tools. */
export type TemplateName = keyof typeof templates;

/** A first tool. */
export interface Template {
  readonly tool: string;
  readonly title: string;
  readonly variable: string;
  /** The file without its extension. */
  readonly file: string;
  /** For the model: what the tool does, what it returns, when to use it. */
  readonly does: string;
  readonly returns: string;
  readonly when: string;
  /** The code above the tool. */
  readonly above: string;
  /** Its schemas and hints. */
  readonly parts: string;
  readonly handler: string;
  /** Calls in its test. */
  readonly tests: string;
}

const query: Template = {
  tool: 'search_documents',
  title: 'Search documents',
  variable: 'searchDocuments',
  file: 'search-documents',
  does: 'Searches documents by words.',
  returns: 'Returns id, title and text of each document found, and how many there are in all.',
  when: 'Use it to find a document before you quote or summarise it.',
  above: `// Put your own search here: a database, an index, an API.
const documents = [
  { id: 'welcome', title: 'Welcome', text: 'How to sign in for the first time.' },
  { id: 'invoices', title: 'Invoices', text: 'Where to find invoices, and how to pay them.' },
  { id: 'refunds', title: 'Refunds', text: 'How to get money back for an invoice.' },
];
`,
  parts: `    input: z.strictObject({
      query: z.string().min(1).max(200).describe('Words to look for, such as "unpaid invoice".'),
      limit: z.number().min(1).max(50).default(10).describe('How many documents to return at most.'),
    }),
    output: z.strictObject({
      results: z.array(z.strictObject({ id: z.string(), title: z.string(), text: z.string() })),
      total: z.number(),
    }),
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },`,
  handler: `({ query, limit }) => {
    const words = query.toLowerCase().split(/\\s+/);
    const found = documents.filter(({ title, text }) =>
      words.every((word) => \`\${title} \${text}\`.toLowerCase().includes(word)),
    );
    return { results: found.slice(0, limit), total: found.length };
  }`,
  tests: `test('documents are found by their words', async () => {
  const result = await client.callTool('search_documents', { query: 'invoice', limit: 1 });
  assert.deepEqual(result.structuredContent, {
    results: [{ id: 'invoices', title: 'Invoices', text: 'Where to find invoices, and how to pay them.' }],
    total: 2,
  });
});

test('a search for nothing is refused', async () => {
  const result = await client.callTool('search_documents', { query: '' });
  assert.equal(result.isError, true);
  assert.ok(result.text.includes('query'), result.text);
});
`,
};

const action: Template = {
  tool: 'send_email',
  title: 'Send an email',
  variable: 'sendEmail',
  file: 'send-email',
  does: 'Sends an email to one person.',
  returns: 'Returns the number of the message.',
  when: 'Use it only when the user asked for this message to be sent.',
  above: 'let sent = 0;\n',
  parts: `    input: z.strictObject({
      to: z
        .email({ pattern: /^[^\\s@]{1,64}@(?:[A-Za-z0-9-]+\\.)+[A-Za-z]{2,}$/, error: 'must be an email address' })
        .max(254)
        .describe('The address it goes to, such as ada@example.com.'),
      subject: z
        .string()
        .min(1)
        .max(200)
        .regex(/^[^\\r\\n]*$/, 'must be one line')
        .describe('The subject, in one line.'),
      body: z.string().min(1).max(20_000).describe('The text of the message.'),
    }),
    output: z.strictObject({ message_id: z.number(), to: z.string() }),
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },`,
  handler: `(message) => {
    // Hand the message to your mail service: this only counts it.
    sent += 1;
    return { message_id: sent, to: message.to };
  }`,
  tests: `const message = { to: 'ada@example.com', subject: 'Your invoice', body: 'It is attached.' };

test('a message is sent', async () => {
  const result = await client.callTool('send_email', message);
  assert.deepEqual(result.structuredContent, { message_id: 1, to: 'ada@example.com' });
});

test('what is no address is refused', async () => {
  const result = await client.callTool('send_email', { ...message, to: 'ada at example.com' });
  assert.equal(result.isError, true);
  assert.ok(result.text.includes('to: must be an email address'), result.text);
});

test('to, subject and body are all needed', async () => {
  for (const field of ['to', 'subject', 'body']) {
    const result = await client.callTool('send_email', { ...message, [field]: undefined });
    assert.equal(result.isError, true);
    assert.ok(result.text.includes(field), result.text);
  }
});
`,
};

const transformation: Template = {
  tool: 'convert_currency',
  title: 'Convert currency',
  variable: 'convertCurrency',
  file: 'convert-currency',
  does: 'Converts an amount of money from one currency to another.',
  returns: 'Returns the converted amount and the rate it was converted at.',
  when: 'Use it whenever a price has to be told in another currency.',
  above: `// Put real rates here: these are only to begin with.
const perEuro = new Map([
  ['EUR', 1],
  ['USD', 1.1],
  ['GBP', 0.85],
]);
const code = z.string().regex(/^[A-Z]{3}$/, 'must be three capital letters, such as EUR');
`,
  parts: `    input: z.strictObject({
      amount: z.number().describe('How much to convert.'),
      from: code.describe('The currency it is in, such as EUR.'),
      to: code.describe('The currency to convert to, such as USD.'),
    }),
    output: z.strictObject({ amount: z.number(), currency: z.string(), rate: z.number() }),
    annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },`,
  handler: `({ amount, from, to }) => {
    const before = perEuro.get(from);
    const after = perEuro.get(to);
    if (before === undefined || after === undefined)
      return { error: \`Unknown currency; known are \${[...perEuro.keys()].join(', ')}\` };
    const rate = after / before;
    return { amount: Math.round(amount * rate * 100) / 100, currency: to, rate };
  }`,
  tests: `test('an amount is converted', async () => {
  const result = await client.callTool('convert_currency', { amount: 20, from: 'EUR', to: 'USD' });
  assert.deepEqual(result.structuredContent, { amount: 22, currency: 'USD', rate: 1.1 });
});

test('a currency in small letters is refused', async () => {
  const result = await client.callTool('convert_currency', { amount: 20, from: 'eur', to: 'USD' });
  assert.equal(result.isError, true);
  assert.ok(result.text.includes('from: must be three capital letters'), result.text);
});

test('a currency without a rate is told', async () => {
  const result = await client.callTool('convert_currency', { amount: 20, from: 'EUR', to: 'ZZZ' });
  assert.equal(result.isError, true);
  assert.ok(result.text.includes('known are EUR, USD, GBP'), result.text);
});
`,
};

/** The first tools, by purpose. */
export const templates = { query, action, transformation };

/** A template whose tool has another name. */
export function named(template: Template, tool: string): Template {
  if (tool === template.tool) return template;
  const words = tool.split('_').filter(Boolean);
  const sentence = words.join(' ');
  return {
    ...template,
    tool,
    title: `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`,
    variable: words
      .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
      .join(''),
    file: words.join('-'),
    tests: template.tests.replaceAll(`'${template.tool}'`, `'${tool}'`),
  };
}

// Words that cannot name a constant in JavaScript.
const RESERVED: ReadonlySet<string> = new Set(
  'await break case catch class const continue debugger default delete do else enum export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield assert client test'.split(
    ' ',
  ),
);

/** Says what is wrong with the name of a tool, if anything is. */
export function complaintAboutTool(tool = ''): string | undefined {
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(tool) || /__|_$/.test(tool))
    return 'A tool has a name such as find_orders: up to 64 small letters and digits, with "_" between words.';
  return RESERVED.has(tool) ? `"${tool}" means something in JavaScript; add a word to it.` : undefined;
}
