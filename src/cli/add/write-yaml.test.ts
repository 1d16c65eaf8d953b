import { expect, test } from 'vitest';
import { serverNames, withServers } from './write-yaml.ts';

const web = { url: 'https://web.example/mcp' };

test.each<[what: string, before: string, after: string]>([
  ['nothing', '', 'mcpServers:\n  web:\n    url: https://web.example/mcp\n'],
  [
    'settings with comments',
    '# top\nserver: { name: crib } # mine\n\n# end\n',
    '# top\nserver: { name: crib } # mine\n\n# end\n\nmcpServers:\n  web:\n    url: https://web.example/mcp\n',
  ],
  [
    'servers in the middle, with comments and their own indent',
    'mcpServers:\n    a: # first\n        command: a   # why\nlog: { level: warn }\n',
    'mcpServers:\n    a: # first\n        command: a   # why\n    web:\n      url: https://web.example/mcp\nlog: { level: warn }\n',
  ],
  [
    'servers at the end, without a line end',
    'mcpServers:\n  a:\n    command: a',
    'mcpServers:\n  a:\n    command: a\n  web:\n    url: https://web.example/mcp\n',
  ],
  [
    'servers in braces',
    '# top\nmcpServers: { a: { command: a } } # all\n',
    '# top\nmcpServers: { a: { command: a }, web: { url: https://web.example/mcp } } # all\n',
  ],
  ['no servers yet', 'mcpServers:\n', 'mcpServers:\n  web:\n    url: https://web.example/mcp\n'],
  [
    'lines as Windows ends them',
    '# top\r\nmcpServers:\r\n  a: # first\r\n    command: a\r\nlog: { level: warn }\r\n',
    '# top\r\nmcpServers:\r\n  a: # first\r\n    command: a\r\n  web:\r\n    url: https://web.example/mcp\r\nlog: { level: warn }\r\n',
  ],
  [
    'servers in braces, and lines as Windows ends them',
    '# top\r\nmcpServers: { a: { command: a } } # all\r\n',
    '# top\r\nmcpServers: { a: { command: a }, web: { url: https://web.example/mcp } } # all\r\n',
  ],
  [
    'a mark at the beginning',
    '\ufeffserver: { name: crib }\n',
    '\ufeffserver: { name: crib }\n\nmcpServers:\n  web:\n    url: https://web.example/mcp\n',
  ],
])('a server is added to %s', (_what, before, after) => {
  expect(withServers(before, { web })).toBe(after);
  expect(serverNames(after)).toContain('web');
});

test.each([
  ['is broken', 'a: [', 'not YAML'],
  ['is a list', '- a\n', 'no settings'],
  ['has a server of this name', 'mcpServers: { web: { command: a } }\n', 'already'],
])('a file that %s is refused', (_what, text, message) => {
  expect(() => withServers(text, { web })).toThrow(message);
});
