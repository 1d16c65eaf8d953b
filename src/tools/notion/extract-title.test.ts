import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { extractTitle } from './extract-title.ts';

const text = (content: string): object => ({ type: 'text', plain_text: content, text: { content } });
const page = (properties: unknown): object => ({ object: 'page', id: 'p', properties });

test.each([
  ['under the name every new page has', page({ title: { type: 'title', title: [text('Plans')] } }), 'Plans'],
  ['under any name', page({ Aufgabe: { id: 'title', type: 'title', title: [text('Plans')] } }), 'Plans'],
  [
    'among other properties, one of them called title',
    page({
      title: { type: 'rich_text', rich_text: [text('No')] },
      Status: { type: 'status', status: { name: 'Open' } },
      Name: { type: 'title', title: [text('Plans')] },
    }),
    'Plans',
  ],
  [
    'in several parts, put together as they stand',
    page({ Name: { type: 'title', title: [text('Plans '), text('for '), text('2026')] } }),
    'Plans for 2026',
  ],
  [
    'with a mention',
    page({ Name: { type: 'title', title: [text('With '), { type: 'mention', plain_text: '@Ada' }] } }),
    'With @Ada',
  ],
  [
    'with an equation',
    page({ Name: { type: 'title', title: [{ type: 'equation', plain_text: 'e=mc^2' }] } }),
    'e=mc^2',
  ],
  [
    'without plain text',
    page({ Name: { type: 'title', title: [{ type: 'text', text: { content: 'Plans' } }] } }),
    'Plans',
  ],
  [
    'of a database',
    { object: 'database', title: [text('All '), text('plans')], properties: {} },
    'All plans',
  ],
  [
    'of a database whose pages have titles',
    { object: 'database', title: [text('Plans')], properties: { Name: { type: 'title', title: {} } } },
    'Plans',
  ],
])('a title is found %s (000-24)', (_where, given, title) => {
  expect(extractTitle(given)).toBe(title);
});

test.each([
  ['an untitled page', page({ Name: { type: 'title', title: [] } })],
  ['a page with an empty title', page({ Name: { type: 'title', title: [text('')] } })],
  ['a page with spaces for a title', page({ Name: { type: 'title', title: [text('  ')] } })],
  ['a page without a title property', page({ Status: { type: 'status' } })],
  ['a page with empty properties', page({})],
  ['a page without properties', { object: 'page', id: 'p' }],
  ['an untitled database', { object: 'database', title: [] }],
  ['null', null],
  ['nothing', undefined],
  ['a text', 'page'],
])('%s has the title Untitled (000-24)', (_what, given) => {
  expect(extractTitle(given)).toBe('Untitled');
});

test('every response of the API gives a title that is not empty (000-24)', () => {
  const part = fc.record(
    { plain_text: fc.anything(), text: fc.oneof(fc.anything(), fc.record({ content: fc.anything() })) },
    { requiredKeys: [] },
  );
  const title = fc.oneof(fc.anything(), fc.array(fc.oneof(part, fc.anything())));
  const property = fc.record({ type: fc.constantFrom('title', 'status', 5), title }, { requiredKeys: [] });
  const given = fc.oneof(
    fc.anything(),
    fc.record({ title, properties: fc.oneof(fc.anything(), fc.dictionary(fc.string(), property)) }),
  );
  fc.assert(
    fc.property(given, (value) => {
      expect(extractTitle(value)).toMatch(/\S/);
    }),
    { numRuns: propertyRuns() },
  );
});
