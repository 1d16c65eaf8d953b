import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { configSchema } from './config.ts';
import { readConfig } from './load-config.ts';
import { configJsonSchema, withTables } from './reference.ts';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(configJsonSchema());

test('toolcrib.schema.json matches the declaration; npm run schema writes it', () => {
  expect(JSON.parse(read('toolcrib.schema.json'))).toEqual(configJsonSchema());
});

test('the tables in docs/configuration.md match the declaration; npm run schema writes them', () => {
  const page = read('docs/configuration.md');
  expect(page).toBe(withTables(page));
});

test('every setting has a description', () => {
  const silent = read('docs/configuration.md')
    .split('\n')
    .filter((line) => /^\| .*\|\s+\|$/.test(line));
  expect(silent).toEqual([]);
});

test('the JSON Schema accepts the samples in the docs, and what the check accepts', () => {
  const samples = [...read('docs/configuration.md').matchAll(/```yaml\n([^]*?)```/g)].map(
    ([, text = '']) => text,
  );
  expect(samples.length).toBeGreaterThan(1);
  for (const sample of samples) {
    validate(parse(sample));
    expect(validate.errors).toBeNull();
    expect(
      configSchema.safeParse(parse(sample.replace('${ISSUER:-', '').replace('example}', 'example'))).success,
    ).toBe(true);
  }
});

test('the JSON Schema accepts a variable wherever the check does, and other text only where text belongs', async () => {
  const source = (value: (text: string) => string): string => `
server: { sse: ${value('true')}, maxBodyBytes: ${value('2048')}, path: ${value('/mcp')}, drainSeconds: ${value('1.5')} }
store: { url: ${value('memory:')} }
tools: { ready: { fetch_api_data: { hosts: [api.example], ports: [${value('443')}], methods: [${value('GET')}] } } }
access: [{ effect: ${value('deny')}, tools: ["*"] }]
stages: { rateLimit: { perMinute: ${value('120')}, perTool: { ping: ${value('5')} } }, audit: { arguments: ${value('none')} } }
log: { level: ${value('warn')} }
`;
  const variables: Record<string, string> = {};
  const outside = source((text) => {
    const name = `V${Object.keys(variables).length}`;
    variables[name] = text;
    return JSON.stringify(`\${${name}}`);
  });
  const file = join(mkdtempSync(join(tmpdir(), 'toolcrib-reference-')), 'toolcrib.yaml');
  onTestFinished(() => rmSync(dirname(file), { recursive: true, force: true }));
  writeFileSync(file, outside);
  expect((await readConfig(file, { env: variables })).complaints).toEqual([]);
  validate(parse(outside));
  expect(validate.errors).toBeNull();
  validate(parse(source((text) => (/^(?:true|[\d.]+)$/.test(text) ? text : JSON.stringify(text)))));
  expect(validate.errors).toBeNull();
  expect(validate(parse('server: { sse: "yes" }'))).toBe(false);
  expect(validate(parse('log: { level: loud }'))).toBe(false);
  expect(validate(parse('stages: { timeout: { seconds: "20" } }'))).toBe(false);
  expect(validate(parse('stages: { timeout: { seconds: 0 } }'))).toBe(false);
});

test.each(['unknown-keys', 'wrong-types', 'missing', 'list-at-the-top'])(
  'the JSON Schema refuses %s, as the check does',
  (name) => {
    const [source = ''] = read(`src/gateway/settings/fixtures/${name}.yaml`).split(/^-{10}\n/m);
    expect(validate(parse(source))).toBe(false);
  },
);

test('every stage has a page', () => {
  const pages = new Set(readdirSync(join(root, 'docs/stages')));
  const linked = [...read('docs/configuration.md').matchAll(/\(stages\/([\w-]+\.md)\)/g)].map(
    ([, page]) => page!,
  );
  expect(linked.length).toBeGreaterThan(5);
  expect(linked.filter((page) => !pages.has(page))).toEqual([]);
});
