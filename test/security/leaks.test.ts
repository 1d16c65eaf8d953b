import { hostname } from 'node:os';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ToolcribError } from '../../src/base/errors.ts';
import { defineTool, type Tool } from '../../src/core/tool.ts';
import { deliver, goodCall, versions, withBody } from './attack.ts';
import { leaksIn } from './leaks.ts';
import { leakedAnswers } from './raw-http.ts';
import { careless, product } from './target.ts';

const SECRET = `/home/operator/.ssh/id_ed25519 on ${hostname()}`;

const accidents: readonly [name: string, run: () => unknown][] = [
  ['throws', () => fail(SECRET)],
  ['throws later', () => Promise.reject(new Error(SECRET))],
  ['throws text', () => raise(SECRET)],
  ['throws undefined', () => raise(undefined)],
  ['throws an error whose message cannot be read', () => raise(unreadableError())],
  [
    'reads a file that is not there',
    async () => (await import('node:fs/promises')).readFile('/root/.netrc-not-there'),
  ],
  ['calls what is not a function', () => (undefined as unknown as () => void)()],
  [
    'recurses without end',
    function recurse(): unknown {
      return [recurse()];
    },
  ],
  [
    'returns a circle',
    () => {
      const circle: Record<string, unknown> = { SECRET };
      return Object.assign(circle, { circle });
    },
  ],
  ['returns a big integer', () => ({ n: 1n })],
  ['returns something whose JSON throws', () => ({ toJSON: () => fail(SECRET) })],
  [
    'returns something whose members throw',
    () => Object.defineProperty({}, 'a', { enumerable: true, get: () => fail(SECRET) }),
  ],
  [
    'refuses with a cause',
    () =>
      raise(new ToolcribError('tool_failed', 'The index is being rebuilt.', { cause: new Error(SECRET) })),
  ],
];

for (const version of versions) {
  describe(version, () => {
    test.each(accidents)(
      'E4 a tool that %s reveals nothing about the machine to its caller, and the log has everything',
      async (_name, run) => {
        const logged: unknown[] = [];
        const tool = defineTool({ name: 'danger', description: 'Fails.' }, run) as Tool<never>;
        const target = await product({ log: (...entry) => logged.push(entry) }, [tool]);
        const { answer } = await deliver(target, goodCall(version, target.port));
        expect(answer.status).toBe(200);
        expect(answer.json?.result).toMatchObject({ isError: true });
        expect(leaksIn(answer.body)).toEqual([]);
        expect(answer.body).not.toContain('operator');
        expect(logged).toHaveLength(1);
      },
    );

    test.each(['list', 'find', 'call'] as const)(
      'E4 a source whose %s throws reveals nothing',
      async (method) => {
        const { source } = await product();
        const broken = { ...source, [method]: () => fail(SECRET) };
        const target = await product({ source: broken });
        const good = goodCall(version, target.port);
        const list = (good.body as string).replace('tools/call', 'tools/list');
        const headers = good.headers.map(([name, value]): [string, string] => [
          name,
          value.replace('tools/call', 'tools/list'),
        ]);
        const request = method === 'list' ? withBody({ ...good, headers }, list) : good;
        const { answer } = await deliver(target, request);
        expect(answer.json?.error?.code).toBe(-32603);
        expect(leaksIn(answer.body)).toEqual([]);
        expect(answer.body).not.toContain('operator');
      },
    );
  });
}

describe('the check', () => {
  test.each([
    'Error: x\n    at /srv/app/dist/a.js:98:5',
    "Error: ENOENT: no such file or directory, open '/root/x'",
    "Cannot find package 'x' imported from /work/main/src/a.ts",
    'at Object.<anonymous> (node:internal/modules/cjs/loader:1554:14)',
    'at async file:///srv/app/dist/a.js:1:1',
    'TypeError: undefined is not a function',
    `connect ECONNREFUSED 127.0.0.1:1`,
    `listening on ${hostname()}:80`,
    `in ${process.cwd()}`,
  ])('E4 control: the check finds something in %j', (text) => {
    expect(leaksIn(text)).not.toEqual([]);
  });

  test.each([
    'Unknown tool: danger',
    'There is nothing here; the endpoint is /mcp.',
    'The server failed unexpectedly (incident 1a2b3c4d).',
  ])('E4 the check finds nothing in %j', (text) => {
    expect(leaksIn(text)).toEqual([]);
  });

  test('E4 control: the check notices a server that answers with its stack trace', async () => {
    onTestFinished(() => {
      leakedAnswers.length = 0;
    });
    const quiet = await careless(() => ({ method: 'none' }));
    await deliver(quiet, goodCall('2026-07-28', quiet.port));
    expect(leakedAnswers).toEqual([]);
    const telling = await careless(
      () => ({ method: 'none' }),
      () => new Error('x').stack!,
    );
    await deliver(telling, goodCall('2026-07-28', telling.port));
    expect(leakedAnswers).toHaveLength(1);
  });
});

function fail(message: string): never {
  throw new Error(message);
}

function raise(value: unknown): never {
  throw value;
}

function unreadableError(): Error {
  return Object.defineProperty(new Error('x'), 'message', { get: () => fail(SECRET) });
}
