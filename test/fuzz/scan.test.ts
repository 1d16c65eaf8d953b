import { expect, test } from 'vitest';
import { parseMessage } from '../../src/protocol/wire/json-rpc.ts';
import { JsonScanner } from '../../src/protocol/wire/json-scan.ts';
import { revisions } from '../../src/protocol/revisions/revisions.ts';
import type { Revision } from '../../src/protocol/revisions/revision.ts';

const scanner = new JsonScanner();
const REPLACEMENTS = Buffer.from('\\"{[\0\x80\xff', 'latin1');
// Read by mistake, each of these would change what a text at the end of its buffer means.
const SURROUNDINGS = Buffer.from('"\\x');

for (const revision of revisions) {
  test(`A4 the scanner stays in its buffer for every truncation and every changed byte of a message of ${revision.version}`, () => {
    for (const message of messagesOf(revision)) {
      for (const bytes of variantsOf(Buffer.from(message))) expectContained(bytes);
    }
  });
}

test.each([
  String.raw`{"jsonrpc":"2.0","id":1,"method":"tools/call","pme` + '\\',
  '{"a\\',
  '{"a\\\\\\',
  '{"\\',
  '["\\',
  '"\\',
  '{"a":"\\',
  '{"id\\',
  '{"id":"\\',
  '{"a":1,"a\\',
])('A4 a text that ends in a backslash, such as %s, is a parse error', (text) => {
  const bytes = exactly(Buffer.from(text));
  expectContained(bytes);
  expect(parseMessage(bytes, scanner)).toMatchObject({ kind: 'invalid', error: { code: 'parse_error' } });
});

/** Every beginning of a message, and the message with every byte replaced by each of the awkward ones. */
function* variantsOf(message: Buffer): Generator<Uint8Array> {
  for (let length = 0; length < message.length; length++) yield exactly(message.subarray(0, length));
  for (let at = 0; at < message.length; at++) {
    for (const byte of REPLACEMENTS) {
      const changed = exactly(message);
      changed[at] = byte;
      yield changed;
    }
  }
}

// A buffer of its own, not from Node's pool: reading beyond it is an error and does not return other bytes.
function exactly(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}

function expectContained(bytes: Uint8Array): void {
  const alone = outcomeOf(bytes);
  for (const byte of SURROUNDINGS) {
    const larger = new Uint8Array(bytes.length + 8).fill(byte);
    larger.set(bytes, 4);
    const amongOthers = outcomeOf(larger.subarray(4, 4 + bytes.length));
    // A plain comparison first: an assertion for each of a million cases takes longer than the cases.
    if (amongOthers !== alone) expect.soft(amongOthers, Buffer.from(bytes).toString('latin1')).toBe(alone);
  }
}

function outcomeOf(bytes: Uint8Array): string {
  try {
    const problem = scanner.scan(bytes);
    const { idStart, idEnd, ascii } = scanner;
    return `${problem} ${idStart} ${idEnd} ${ascii}`;
  } catch (error) {
    expect.fail(`${String(error)} at ${JSON.stringify(Buffer.from(bytes).toString('latin1'))}`);
  }
}

function* messagesOf({ version, era, methods }: Revision): Generator<string> {
  const meta =
    era === 'modern' ? { 'io.modelcontextprotocol/protocolVersion': version } : { progressToken: 'é"\\' };
  for (const [index, method] of [...methods].entries()) {
    const id = index % 2 === 0 ? index : `"${index}\\u0041"`;
    const params = { ...paramsOf[method], _meta: meta };
    yield `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${JSON.stringify(params)}}`;
  }
  yield '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"\\ud83d\\ude00"}}';
  yield '{"jsonrpc":"2.0","id":"ask-1","result":{"action":"accept","content":{"\\u0061":[1,-2.5e3,null]}}}';
  yield '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]';
}

const paramsOf: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: 'x',
    capabilities: { sampling: {} },
    clientInfo: { name: 'c', version: '1' },
  },
  'tools/call': { name: 'add', arguments: { a: [1, 'two', { 'ke\\y"': true }], '\n': -1.5e-7, é: null } },
  'tools/list': { cursor: 'abc' },
  'resources/read': { uri: 'note://x' },
  'prompts/get': { name: 'greet', arguments: { to: 'Ada' } },
  'completion/complete': { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'to', value: 'A' } },
  'logging/setLevel': { level: 'info' },
  'subscriptions/listen': { notifications: { toolsListChanged: true, taskIds: ['a'] } },
  'tasks/update': { taskId: 'a', inputResponses: { sure: { action: 'accept', content: { yes: true } } } },
};
