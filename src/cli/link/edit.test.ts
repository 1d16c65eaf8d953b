import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { propertyRuns } from '../../../test/property-runs.ts';
import { findEntry, putEntry, takeEntry, type EntryIn } from './edit.ts';
import { insertAll } from './splice.ts';

const json: EntryIn = { format: 'json', member: 'mcpServers', name: 'crib' };
const toml: EntryIn = { format: 'toml', member: 'mcp_servers', name: 'crib' };
const entry = { command: '/usr/bin/node', args: ['main.js', 'serve'] };

describe('JSON with comments', () => {
  test.each<[what: string, before: string, after: string]>([
    [
      'an empty object',
      '{}',
      '{"mcpServers":{"crib":{"command":"/usr/bin/node","args":["main.js","serve"]}}}',
    ],
    [
      'servers in one line',
      '{"mcpServers": {"a": {}}}',
      '{"mcpServers": {"a": {},"crib":{"command":"/usr/bin/node","args":["main.js","serve"]}}}',
    ],
    [
      'servers in lines, the last one with a comment',
      '{\n  // mine\n  "mcpServers": {\n    "a": {} // about a\n  }\n}\n',
      '{\n  // mine\n  "mcpServers": {\n    "a": {}, // about a\n    "crib": {\n      "command": "/usr/bin/node",\n      "args": [\n        "main.js",\n        "serve"\n      ]\n    }\n  }\n}\n',
    ],
    [
      'a comma at the end, and tabs',
      '{\n\t"mcpServers": {\n\t\t"a": {},\n\t},\n}\n',
      '{\n\t"mcpServers": {\n\t\t"a": {},\n\t\t"crib": {\n\t\t\t"command": "/usr/bin/node",\n\t\t\t"args": [\n\t\t\t\t"main.js",\n\t\t\t\t"serve"\n\t\t\t]\n\t\t}\n\t},\n}\n',
    ],
    [
      'no servers yet, and lines as Windows ends them',
      '{\r\n  "theme": "dark"\r\n}\r\n',
      '{\r\n  "theme": "dark",\r\n  "mcpServers": {\r\n    "crib": {\r\n      "command": "/usr/bin/node",\r\n      "args": [\r\n        "main.js",\r\n        "serve"\r\n      ]\r\n    }\r\n  }\r\n}\r\n',
    ],
    [
      'an empty object with a comment in it',
      '{\n  "mcpServers": {\n    // none yet\n  }\n}',
      '{\n  "mcpServers": {\n    // none yet\n    "crib": {\n      "command": "/usr/bin/node",\n      "args": [\n        "main.js",\n        "serve"\n      ]\n    }\n  }\n}',
    ],
  ])('%s', (_what, before, after) => {
    const edited = putEntry(before, json, entry);
    expect(edited.text).toBe(after);
    expect(takeEntry(edited.text, json, edited.insertions)).toBe(before);
  });

  test.each([
    ['is broken', '{"a": ', 'not JSON'],
    ['is a list', '[]', 'no object'],
    ['has servers that are no object', '{"mcpServers": []}', 'no object'],
    ['has servers twice', '{"mcpServers": {}, "mcpServers": {}}', 'twice'],
    ['has an entry of this name', '{"mcpServers": {"crib": {"command": "other"}}}', 'already'],
    ['has an entry of this name twice', '{"mcpServers": {"crib": 1, "crib": 2}}', 'twice'],
  ])('a file that %s is refused', (_what, text, message) => {
    expect(() => putEntry(text, json, entry)).toThrow(message);
  });

  test('everything outside of the entry stays unchanged, whatever the file looks like', () => {
    fc.assert(
      fc.property(jsonFiles(), fc.boolean(), (before, isEditedLater) => {
        const edited = putEntry(before, json, entry);
        expect(insertAll(before, edited.insertions)).toBe(edited.text);
        expect(findEntry(edited.text, json)).toEqual(entry);
        expect(takeEntry(edited.text, json, edited.insertions)).toBe(before);
        if (!isEditedLater) return;
        // Somebody added a comment at the top, so nothing is where it was.
        const later = edited.text.replace(/^\ufeff?/, '$&// later\n');
        const rest = takeEntry(later, json, edited.insertions);
        expect(findEntry(rest, json)).toBeUndefined();
        expect(rest).toContain('// later\n');
        for (const comment of before.match(/\/\*c\d+\*\//g) ?? []) expect(rest).toContain(comment);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});

describe('TOML', () => {
  test.each([
    ['nothing', ''],
    ['a table without a line end', 'model = "x" # mine\n[mcp_servers.a]\ncommand = "a"'],
    ['other tables', '# top\n[mcp_servers.a]\ncommand = "a"\n\n[tui]\ntheme = "dark"\n'],
    ['lines as Windows ends them', 'model = "x"\r\n'],
    ['a text that looks like a table', 'a = """\n[mcp_servers.crib]\n"""\n'],
  ])('%s', (_what, before) => {
    const edited = putEntry(before, toml, { ...entry, env_vars: ['KEY'] });
    expect(edited.text.startsWith(before)).toBe(true);
    expect(edited.text).toContain('[mcp_servers.crib]');
    expect(takeEntry(edited.text, toml, edited.insertions)).toBe(before);
  });

  test('an entry is found again after other changes, and only it is removed', () => {
    const before = '[mcp_servers.a]\ncommand = "a"\n';
    const { text, insertions } = putEntry(before, toml, entry);
    const later = `# new\n${text}\n[mcp_servers.crib.env]\nA = "1"\n\n[later]\nb = 1 # c\n`;
    expect(takeEntry(later, toml, insertions)).toBe(`# new\n${before}\n[later]\nb = 1 # c\n`);
  });

  test('a comment about the table behind an entry stays, and so do lists of tables', () => {
    const { text, insertions } = putEntry('', toml, entry);
    for (const next of ['# about what comes\n# next\n[next]\nb = 1\n', '[[list]]\nb = 1\n'])
      expect(takeEntry(`# new\n${text}\n${next}`, toml, insertions)).toBe(`# new\n${next}`);
  });

  test.each([
    ['is broken', 'a = ', 'not TOML'],
    ['has its servers in one line', 'mcp_servers = { a = { command = "a" } }\n', 'does not fit'],
    ['has an entry of this name', '[mcp_servers.crib]\ncommand = "x"\n', 'already'],
  ])('a file that %s is refused', (_what, text, message) => {
    expect(() => putEntry(text, toml, entry)).toThrow(message);
  });
});

// Files with blanks and comments in every place, as people and editors leave them behind.
function jsonFiles(): fc.Arbitrary<string> {
  const blank = fc.constantFrom('', ' ', '\n', '\n  ', '\t', '\r\n', ' /*c1*/ ', ' // c\n', '\n/*c2*/\n');
  const value = fc.constantFrom(
    '{}',
    '{"command":"a"}',
    '{\n "x": [1, 2]\n}',
    '"}{"',
    'null',
    '[{}]',
    '"//"',
  );
  const member = fc.record({
    key: fc.constantFrom('a', 'b', 'é', '__proto__', '//x'),
    value,
    before: blank,
    after: blank,
  });
  const object = (
    members: fc.Arbitrary<readonly { key: string; value: string; before: string; after: string }[]>,
  ) =>
    fc.tuple(members, blank, fc.boolean()).map(([list, inner, hasComma]) => {
      const lines = list.map(
        ({ key, value: text, before, after }) => `${before}${JSON.stringify(key)}:${text}${after}`,
      );
      return `{${lines.join(',')}${lines.length > 0 && hasComma ? ',' : ''}${inner}}`;
    });
  const servers = object(fc.uniqueArray(member, { selector: ({ key }) => key, maxLength: 3 }));
  const withServers = fc.tuple(
    fc.uniqueArray(member, { selector: ({ key }) => key, maxLength: 2 }),
    servers,
    blank,
    blank,
  );
  const root = object(
    withServers.map(([others, text, before, after]) => [
      ...others,
      { key: 'mcpServers', value: text, before, after },
    ]),
  );
  const bare = object(fc.uniqueArray(member, { selector: ({ key }) => key, maxLength: 3 }));
  return fc
    .tuple(fc.oneof(root, bare), blank, blank, fc.constantFrom('', '\ufeff'))
    .map(([text, before, after, mark]) => `${mark}${before}${text}${after}`);
}
