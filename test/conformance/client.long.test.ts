import { expect, test } from 'vitest';
import { runClientScenario } from './client-scenario.ts';
import { listClientScenarios, type ClientScenario } from './suite.ts';

const OLDEST = ['initialize', 'tools_call'];
const OLD = [
  'initialize',
  'tools_call',
  'elicitation-sep1034-client-defaults',
  'sse-retry',
  'json-schema-2020-12-preservation',
];
const NEW = [
  'tools_call',
  'request-metadata',
  'sep-2322-client-request-state',
  'http-standard-headers',
  'http-custom-headers',
  'http-invalid-tool-headers',
  'json-schema-ref-no-deref',
  'json-schema-2020-12-preservation',
];
const SKILLS = ['no-prefetch', 'verify-digest', 'verify-size', 'verify-frontmatter'].map(
  (name) => `sep-2640-client-${name}`,
);

const all: readonly ClientScenario[] = [
  ...OLDEST.map((name) => [name, '2025-06-18'] as const),
  ...OLD.map((name) => [name, '2025-11-25'] as const),
  ...NEW.map((name) => [name, '2026-07-28'] as const),
  ...SKILLS.map((name) => [name, undefined] as const),
];

test('no scenario for clients of the official suite is left out, but those of signing in', async () => {
  const listed = (await listClientScenarios()).filter(([name]) => !name.startsWith('auth/'));
  expect(all.map(String).toSorted()).toEqual(listed.map(String).toSorted());
});

test.each(all)(
  'the client passes %s of the official suite (%s)',
  { timeout: 60_000 },
  async (scenario, revision) => {
    const { problems, exits } = await runClientScenario('test/conformance/client.mjs', scenario, revision);
    expect(problems).toEqual([]);
    expect(exits).toBe('0\n');
  },
);
