import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import type { ResourceCall } from '../call.ts';
import { localCaller } from '../caller.ts';
import { makeCall } from '../make-call.ts';
import { merge } from '../merge.ts';
import { defineResourceTemplate } from '../resources/resource.ts';
import { parseUriTemplate } from '../resources/uri-template.ts';
import type { ToolSource } from '../source.ts';
import { theirAddress, withLabel, withoutLabel } from './address-names.ts';

test.each([
  ['https://a.example/x', 'https://web/a.example/x'],
  ['file:///etc/hosts', 'file://web//etc/hosts'],
  ['urn:isbn:1', 'urn:web/isbn:1'],
  ['note:a://b', 'note:web/a://b'],
  ['{+path}', 'web/{+path}'],
  ['plain', 'web/plain'],
  ['', 'web/'],
])('the address %j keeps its scheme and gets the label in front of its path: %j', (uri, labelled) => {
  expect(withLabel(uri, 'web')).toBe(labelled);
  expect(withoutLabel(labelled, 'web')).toBe(uri);
});

test('an address without the label, or with a label that only begins like it, has none to take away', () => {
  for (const uri of ['https://webs/x', 'https://web', 'https://x/web/', 'web/x:y', 'https:web'])
    expect([uri, withoutLabel(uri, 'web')]).toEqual([uri, undefined]);
});

test('whatever an address is, the label that is put in can be taken away again', () => {
  const address = fc.array(fc.constantFrom('a', ':', '/', '//', '://', 'web', '?', '#', 'ä'), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(address, fc.constantFrom('a', 'web', 'my-server'), (pieces, label) => {
      const uri = pieces.join('');
      expect(withoutLabel(withLabel(uri, label), label)).toBe(uri);
    }),
    { numRuns: propertyRuns(2_000) },
  );
});

test.each<[theirs: string, values: Record<string, string>]>([
  ['note://{id}', { id: 'web' }],
  ['note:{id}', { id: '7' }],
  ['{+path}', { path: 'https://a.example/b' }],
  ['{scheme}://docs/{id}', { scheme: 'https', id: '1' }],
  ['{scheme}://docs/{id}', { scheme: 'x', id: '1' }],
  ['{kind}:{id}', { kind: 'a-long-kind', id: 'a:b' }],
  ['find{?text}', { text: 'a:b' }],
])('an address that follows %j as it is shown leads to what its server calls it', (theirs, values) => {
  const shown = withLabel(theirs, 'web');
  const address = parseUriTemplate(shown).expand(values);
  expect(theirAddress(address, shown, theirs)).toBe(parseUriTemplate(theirs).expand(values));
});

// What another server lists need not begin with a scheme, as templates of this process must.
function serverOf(name: string, uriTemplate: string): ToolSource {
  const template = {
    ...defineResourceTemplate({ uriTemplate: 'note://{id}', name }, () => ''),
    uriTemplate,
    template: parseUriTemplate(uriTemplate),
  };
  return {
    list: () => [],
    find: () => undefined,
    call: (call) => ({ kind: 'done', data: `${name} was asked for ${(call as ResourceCall).uri}` }),
    resources: {
      list: () => [],
      templates: () => [template],
      find: (uri) => {
        const variables = template.template.match(uri);
        return variables && { resource: template, variables };
      },
    },
  };
}

test('a resource of a template with an open scheme is asked of its server by the address it has there', async () => {
  const open = '{scheme}://docs/{id}';
  const merged = merge({ web: serverOf('web', open), notes: serverOf('notes', open) });
  const shown = await merged.resources!.templates(localCaller);
  expect(shown.map(({ uriTemplate }) => uriTemplate)).toEqual([
    '{scheme}://notes/docs/{id}',
    '{scheme}://web/docs/{id}',
  ]);
  const uri = 'https://notes/docs/1';
  const found = (await merged.resources!.find(uri, localCaller))!;
  const call = makeCall({ kind: 'resource', uri, ...found }, { caller: localCaller });
  expect(await merged.call(call)).toMatchObject({ data: 'notes was asked for https://docs/1' });
});
