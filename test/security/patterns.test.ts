import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { parseSync, Visitor } from 'oxc-parser';
import { describe, expect, test } from 'vitest';
import { ToolcribError } from '../../src/base/errors.ts';
import { defineTool, type Tool } from '../../src/core/tool.ts';
import { deliver, goodCall, versions } from './attack.ts';
import { dangersOf } from './pattern-safety.ts';
import { product } from './target.ts';

const catastrophic: readonly [pattern: string, text: string][] = [
  ['^(a|a)*$', `${'a'.repeat(60)}!`],
  ['^(a+)+$', `${'a'.repeat(60)}!`],
  ['^(a*)*$', `${'a'.repeat(60)}!`],
  ['^(a|aa)+$', `${'a'.repeat(90)}!`],
  ['^(a|a?)+$', `${'a'.repeat(60)}!`],
  ['^([a-zA-Z]+)*$', `${'a'.repeat(60)}!`],
  ['^(.*a){20}$', `${'a'.repeat(60)}!`],
  ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(80)],
  ['^(x+x+)+y$', 'x'.repeat(60)],
  ['^(\\d+)*[^\\d]$', '1'.repeat(60)],
  ['^(\\w+\\s?)*$', `${'a'.repeat(60)}!`],
  ['^(\\s*\\w*)*$', `${'a '.repeat(40)}!`],
  ['^([a-z0-9]+\\.?)*@$', 'a'.repeat(60)],
  ['^(([^@]+)*)@$', 'a'.repeat(60)],
  ['^([\\w.-]+)+@[\\w.-]+$', 'a'.repeat(60)],
  ['^(?:(?:a+)|(?:b+)|(?:ab)+)*c$', 'ab'.repeat(40)],
  ['^(a{1,40}){1,40}$', `${'a'.repeat(60)}!`],
  ['^(([a-c])+)*d$', 'abc'.repeat(25)],
  ['^(?=(a+)+b)a*$', 'a'.repeat(60)],
  ['^(a+)\\1+b(a|a)*$', `${'a'.repeat(20)}b${'a'.repeat(60)}!`],
];

describe('patterns in schemas', () => {
  for (const [pattern, text] of catastrophic) {
    test(`A15 the pattern ${pattern} is refused at registration, or answers hostile text in time`, async () => {
      for (const properties of placesFor(pattern)) {
        const tool = tryDefine(properties);
        if (tool instanceof ToolcribError) expect(tool.code).toBe('invalid_tool');
        else await expectAnswer(tool, text);
      }
    });
  }

  test.each(['^(?=a)b', '(a)\\1', '(?<x>a)\\k<x>', '(?<!a)b', '((a{100}){100}){100}', '(', '[z-a]', 'a**'])(
    'A15 the pattern %s, which cannot be checked in linear time or at all, is refused at registration',
    (pattern) => {
      for (const properties of placesFor(pattern))
        expect(tryDefine(properties)).toBeInstanceOf(ToolcribError);
    },
  );

  test('A15 every format checks hostile text of any length in time', async () => {
    const formats = Object.keys(fullFormats);
    const properties = Object.fromEntries(formats.map((format) => [format, { type: 'string', format }]));
    const tool = tryDefine(properties) as Tool;
    const texts = ['a', '1', '/', '%', 'a.', 'a@', '1:', '{a', '::', '-', 'a-', '0/', ' '].flatMap((piece) =>
      [100, 4_000, 100_000].map((length) => `${piece.repeat(length / piece.length)}!`),
    );
    for (const text of texts) await expectAnswer(tool, text, Object.keys(properties).slice(0, 4));
    for (const format of formats) await expectAnswer(tool, texts[0]!, [format]);
  });

  test('A15 control: the built-in engine does not finish on these texts', () => {
    const finished = catastrophic.filter(([pattern, text]) => {
      try {
        runInNewContext('new RegExp(pattern).test(text)', { pattern, text }, { timeout: 20 });
        return true;
      } catch {
        return false;
      }
    });
    expect(finished).toEqual([]);
  });
});

describe('regular expressions of our own code', () => {
  // More than the check can judge: none of them can come back to a character it has read.
  const accepted = new Set([
    // A word character, a percent sign and a dot are three different things, so there is one way through.
    String.raw`src/core/resources/uri-template.ts: /^(?:\w|%[\dA-Fa-f]{2})+(?:\.(?:\w|%[\dA-Fa-f]{2})+)*$/`,
  ]);
  // The match of a URI template, and the search of an index of words: no regular expressions.
  const others = ['template.template.match(uri)', 'index.search(query'];

  test('A15 every regular expression in the source takes linear time', () => {
    const dangerous = sources().flatMap(({ path, text }) =>
      literalsIn(path, text)
        .filter(({ pattern, flags }) => dangersOf(pattern, flags).length > 0)
        .map(({ raw }) => `${path}: ${raw}`),
    );
    expect(dangerous.filter((found) => !accepted.has(found))).toEqual([]);
  });

  test.each<[name: string, pattern: RegExp, text: string]>([
    ['a name', /^(?:\w|%[\dA-Fa-f]{2})+(?:\.(?:\w|%[\dA-Fa-f]{2})+)*$/, `${'a.%41'.repeat(200_000)}!`],
    ['a long name', /^(?:\w|%[\dA-Fa-f]{2})+(?:\.(?:\w|%[\dA-Fa-f]{2})+)*$/, `${'a'.repeat(1_000_000)}!`],
    ['letters beyond ASCII', /[\u0080-\uffff]+/g, `${'é'.repeat(1_000_000)}a`.repeat(3)],
  ])('A15 an accepted pattern finishes on a million letters of %s', (_name, pattern, text) => {
    const run = (): unknown =>
      runInNewContext(
        'text.replaceAll(new RegExp(pattern, "gu"), "").length',
        { pattern, text },
        { timeout: 2_000 },
      );
    expect(run).not.toThrow();
  });

  test('A15 no regular expression in the source is built from text at run time', () => {
    const made = sources().filter(({ text }) =>
      /\bnew RegExp\(|(?<![\w.])RegExp\(|\.(?:match|search)\((?!\/)/.test(
        others.reduce((left, other) => left.replaceAll(other, ''), text),
      ),
    );
    expect(made.map(({ path }) => path)).toEqual([]);
  });

  test.each(catastrophic)('A15 control: the check finds something in %s', (pattern) => {
    expect(dangersOf(pattern)).not.toEqual([]);
  });

  test.each([
    'a+b',
    '^\\s+|\\s+$',
    '\\s*,\\s*',
    '^\\s*\\s*$',
    '^a*[a-c]*$',
    '^\\d+(?:0+)?$',
    '^(?:a|b+)?b*$',
    '^.*?x.*$',
    '([A-Z]+)([A-Z][a-z])',
  ])('A15 the check finds something in %s too', (pattern) => {
    expect(dangersOf(pattern)).not.toEqual([]);
  });

  test.each([
    '^[a-z]+$',
    '^a+b+$',
    '^\\d{4}-\\d{2}$',
    'a',
    '\\r?\\n',
    '^(?:ab|cd)(?::\\d{1,5})?$',
    '^[ \\t]*;[ \\t]*x$',
    '^[^:]+:\\d+$',
    '^-?\\d+(?:\\.0+)?$',
  ])('A15 the check finds nothing in %s', (pattern) => {
    expect(dangersOf(pattern)).toEqual([]);
  });
});

function placesFor(pattern: string): Record<string, unknown>[] {
  return [
    { text: { type: 'string', pattern } },
    { text: { anyOf: [{ type: 'string', pattern }, { type: 'null' }] } },
    { text: { type: 'object', patternProperties: { [pattern]: true } } },
    { text: { type: 'object', propertyNames: { pattern } } },
  ];
}

function tryDefine(properties: Record<string, unknown>): Tool | ToolcribError {
  try {
    return defineTool({ name: 'checked', description: 'Checks.', input: { properties } }, () => 'ran');
  } catch (error) {
    if (error instanceof ToolcribError) return error;
    throw error;
  }
}

async function expectAnswer(tool: Tool, text: string, names: readonly string[] = ['text']): Promise<void> {
  const isObject = (tool.inputSchema.properties!['text'] as { type?: string } | undefined)?.type === 'object';
  const args = Object.fromEntries(names.map((name) => [name, isObject ? { [text]: 1 } : text]));
  const target = await product({}, [tool]);
  for (const version of versions) {
    const { answer } = await deliver(target, goodCall(version, target.port, { name: 'checked', args }));
    expect([answer.status, answer.json?.result?.['content']]).toEqual([
      200,
      [expect.objectContaining({ type: 'text' })],
    ]);
  }
}

function sources(): { path: string; text: string }[] {
  const root = join(import.meta.dirname, '../..');
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => `src/${name.replaceAll('\\', '/')}`)
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
}

function literalsIn(path: string, text: string): { raw: string; pattern: string; flags: string }[] {
  const found: { raw: string; pattern: string; flags: string }[] = [];
  new Visitor({
    Literal(node) {
      if ('regex' in node && node.regex) found.push({ raw: node.raw ?? '', ...node.regex });
    },
  }).visit(parseSync(path, text).program);
  return found;
}
