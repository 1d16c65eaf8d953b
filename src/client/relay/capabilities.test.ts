import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { relayableCapabilities, relayedCapabilities } from './capabilities.ts';

const APPS = 'io.modelcontextprotocol/ui';
const TASKS = 'io.modelcontextprotocol/tasks';

test('what a client declared goes on as far as it can be passed on and back', () => {
  const declared = {
    elicitation: { form: {}, later: {} },
    sampling: { tools: {} },
    roots: { listChanged: true },
    experimental: { x: {} },
    extensions: { [APPS]: { mimeTypes: ['a/b'] }, 'com.acme/x': {}, [TASKS]: { list: {} } },
  };
  const passed = {
    elicitation: { form: {}, later: {} },
    sampling: { tools: {} },
    roots: {},
    extensions: { [APPS]: { mimeTypes: ['a/b'] } },
  };
  expect(relayedCapabilities(declared, 'awaited')).toEqual(passed);
  expect(relayedCapabilities(declared, 'followed')).toEqual({
    ...passed,
    extensions: { ...passed.extensions, [TASKS]: {} },
  });
});

test('what is no declaration is not passed on', () => {
  for (const odd of [null, 7, 'text', [], true]) {
    const declared = { elicitation: odd, sampling: odd, roots: odd, extensions: odd };
    expect(relayedCapabilities(declared, 'followed')).toEqual({});
    expect(relayableCapabilities(declared)).toEqual({});
  }
});

test('whatever clients declare, there are only so many wordings of what is passed on', () => {
  const word = fc.constantFrom('form', 'url', 'tools', 'context', 'mimeTypes', 'x', '__proto__');
  const part = fc.dictionary(word, fc.anything(), { maxKeys: 4 });
  const mimeTypes = fc.array(fc.constantFrom('text/html;profile=mcp-app', 'a/b'));
  const apps = fc.oneof(part, fc.record({ mimeTypes }));
  const declared = fc.record(
    {
      elicitation: part,
      sampling: part,
      roots: part,
      extensions: fc.record({ [APPS]: apps, x: part }),
      x: part,
    },
    { requiredKeys: [] },
  );
  const wordings = new Set<string>();
  fc.assert(
    fc.property(declared, (made) => {
      const passed = relayableCapabilities(made);
      wordings.add(JSON.stringify(passed));
      // Once more, nothing is left to take away.
      expect(relayableCapabilities(passed)).toEqual(passed);
    }),
    { numRuns: propertyRuns(5_000) },
  );
  // Five ways for each of questions and sampling, two for roots, three for apps.
  expect(wordings.size).toBeLessThanOrEqual(5 * 5 * 2 * 3);
});
