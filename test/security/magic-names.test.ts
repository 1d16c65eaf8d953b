import { deepEqual, equal } from 'node:assert/strict';
import { afterEach, describe, expect, test } from 'vitest';
import { ToolRegistry } from '../../src/core/registry.ts';
import { defineTool } from '../../src/core/tool.ts';
import { metaKeys } from '../../src/protocol/wire/meta.ts';
import {
  callBody,
  deliver,
  goodCall,
  modernMeta,
  versions,
  withBody,
  withHeader,
  type Version,
} from './attack.ts';
import { leakedAnswers, type RawRequest } from './raw-http.ts';
import { overStdio } from './stdio.ts';
import { product } from './target.ts';

const names = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'prototype',
  'valueOf',
  '__defineGetter__',
];
const membersBefore = Object.getOwnPropertyNames(Object.prototype).toSorted();

afterEach(() => {
  deepEqual(Object.getOwnPropertyNames(Object.prototype).toSorted(), membersBefore);
  equal('polluted' in {}, false);
});

for (const version of versions) {
  describe(version, () => {
    test.each(names)('A14 a tool named %s is unknown', async (name) => {
      const target = await product();
      const { answer, ran } = await deliver(target, goodCall(version, target.port, { name }));
      expect(answer.json?.error).toEqual({
        code: -32602,
        message: `Unknown tool: ${name}`,
        data: { reason: 'tool_not_found' },
      });
      expect(ran).toBe(0);
    });

    test.each(names)('A14 a method named %s is unknown', async (name) => {
      const target = await product();
      const changed = edit(goodCall(version, target.port), '"tools/call"', JSON.stringify(name));
      const { answer, ran } = await deliver(target, withHeader(changed, 'Mcp-Method', name));
      expect({ code: answer.json?.error?.code, ran }).toEqual({ code: -32601, ran: 0 });
    });

    test.each(names)('A14 an argument named %s is refused or treated like any other', async (name) => {
      const target = await product();
      const args = `{"${name}":{"polluted":true,"prototype":{"polluted":true}}}`;
      const { answer, ran } = await deliver(
        target,
        edit(goodCall(version, target.port), '"arguments":{}', `"arguments":${args}`),
      );
      if (name === '__proto__') {
        expect({ status: answer.status, code: answer.json?.error?.code, ran }).toEqual({
          status: 400,
          code: -32600,
          ran: 0,
        });
        return;
      }
      const seen = target.source.calls[0]!.arguments;
      expect(Object.keys(seen)).toEqual([name]);
      expect(Object.getPrototypeOf(seen)).toBe(Object.prototype);
      const [block] = answer.json!.result!['content'] as { text: string }[];
      expect(JSON.parse(block!.text)).toEqual({ ran: true, args: JSON.parse(args) as unknown });
    });

    test.each(names)('A14 a header named %s changes nothing', async (name) => {
      const target = await product();
      const request = goodCall(version, target.port, {
        headers: [
          [name, 'x'],
          [name, 'y'],
        ],
      });
      const { answer, ran } = await deliver(target, request);
      expect({ status: answer.status, ran }).toEqual({ status: 200, ran: 1 });
    });

    test.each(names)('A14 the id "%s" is accepted and echoed', async (name) => {
      const target = await product();
      const { answer, ran } = await deliver(
        target,
        edit(goodCall(version, target.port), '"id":1', `"id":"${name}"`),
      );
      expect({ status: answer.status, id: answer.json?.id, ran }).toEqual({ status: 200, id: name, ran: 1 });
    });

    test.each(names)('A14 a _meta key %s is refused or ignored', async (name) => {
      const target = await product();
      const meta = JSON.stringify(version === '2026-07-28' ? modernMeta : { a: 1 });
      const good = edit(goodCall(version, target.port), /,"_meta":.*?\}(?=\}\}$)/, '');
      const request = edit(
        good,
        '"arguments":{}',
        `"arguments":{},"_meta":${meta.slice(0, -1)},"${name}":{"polluted":true}}`,
      );
      const { answer, ran } = await deliver(target, request);
      const isRefused = name === '__proto__';
      expect({ status: answer.status, ran }).toEqual(
        isRefused ? { status: 400, ran: 0 } : { status: 200, ran: 1 },
      );
    });

    test.each(names)('A14 a top-level member or a parameter named %s is refused or ignored', async (name) => {
      const target = await product();
      const good = goodCall(version, target.port);
      const member = await deliver(target, edit(good, '"id":1', `"id":1,"${name}":{}`));
      expect({ status: member.answer.status, ran: member.ran }).toEqual({ status: 400, ran: 0 });
      const parameter = await deliver(target, edit(good, '"arguments":{}', `"arguments":{},"${name}":{}`));
      const isRefused = ['__proto__', 'constructor', 'prototype'].includes(name);
      expect({ status: parameter.answer.status, ran: parameter.ran }).toEqual(
        isRefused ? { status: 400, ran: 0 } : { status: 200, ran: 1 },
      );
    });

    test.each(names)('A14 the cursor of a tool named %s is refused', async (name) => {
      const target = await product();
      const cursor = Buffer.from(name).toString('base64url');
      const { answer } = await deliver(target, ask(version, target.port, ['tools/list', { cursor }]));
      expect(answer.json?.error?.code).toBe(-32602);
    });

    test('A14 tools with such names are listed and called like others', async () => {
      const tools = names.map((name) => defineTool({ name, description: 'Bears a magic name.' }, () => name));
      const target = await product({}, tools);
      const { answer } = await deliver(target, ask(version, target.port, ['tools/list', {}]));
      const listed = answer.json?.result?.['tools'] as { name: string }[];
      expect(listed.map(({ name }) => name)).toEqual(names.toSorted());
      for (const name of names) {
        const called = await deliver(target, goodCall(version, target.port, { name }));
        expect(called.answer.json?.result?.['content']).toEqual([{ type: 'text', text: name }]);
      }
    });

    test.each(['constructor', 'toString', 'hasOwnProperty'])(
      'A14 a required argument named %s is missing until it is sent',
      async (name) => {
        const schema = {
          properties: { [name]: { type: 'string' } },
          required: [name],
          additionalProperties: false,
        };
        const strict = defineTool({ name: 'strict', description: 'Needs it.', input: schema }, () => 'ran');
        const target = await product({}, [strict]);
        const without = await deliver(target, goodCall(version, target.port, { name: 'strict' }));
        expect(without.answer.json?.result).toMatchObject({
          isError: true,
          content: [{ text: expect.stringContaining('is required') as string }],
        });
        const sent = await deliver(
          target,
          goodCall(version, target.port, { name: 'strict', args: { [name]: 'x' } }),
        );
        expect(sent.answer.json?.result).toMatchObject({ isError: false });
      },
    );
  });
}

test.each(names)('A14 the version %s is not supported', async (name) => {
  const target = await product();
  const meta = JSON.stringify({ ...modernMeta, [metaKeys.protocolVersion]: name });
  const good = edit(goodCall('2026-07-28', target.port), JSON.stringify(modernMeta), meta);
  const modern = await deliver(target, withHeader(good, 'MCP-Protocol-Version', name));
  expect({ code: modern.answer.json?.error?.code, ran: modern.ran }).toEqual({ code: -32022, ran: 0 });
  const older = await deliver(
    target,
    withHeader(goodCall('2025-06-18', target.port), 'MCP-Protocol-Version', name),
  );
  expect({ status: older.answer.status, ran: older.ran }).toEqual({ status: 400, ran: 0 });
});

test('A14 over stdio such ids, handshakes and cancellations are taken literally', async () => {
  const lines = names.flatMap((name) => [
    `{"jsonrpc":"2.0","id":"${name}","method":"initialize","params":{"protocolVersion":"${name}","capabilities":{},"clientInfo":{"name":"${name}","version":"${name}","toString":1}}}`,
    `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"${name}"}}`,
    callBody('2025-06-18').replace('"id":1', `"id":"${name}-call"`),
  ]);
  const { answers, source } = await overStdio(lines);
  expect(answers.map(({ id }) => String(id)).toSorted()).toEqual(
    names.flatMap((name) => [name, `${name}-call`]).toSorted(),
  );
  expect(answers.filter(({ error }) => error)).toEqual([]);
  expect(source.calls).toHaveLength(names.length);
});

test('A14 control: a registry knows no tool of such a name, and a plain object does', () => {
  const registry = new ToolRegistry();
  const plain: Record<string, unknown> = {};
  expect(names.filter((name) => registry.find(name) !== undefined)).toEqual([]);
  expect(names.filter((name) => plain[name] !== undefined)).toEqual(
    names.filter((name) => name !== 'prototype'),
  );
});

test('A14 control: arguments that are refused here pollute a prototype when they are merged carelessly', () => {
  const args = JSON.parse('{"__proto__":{"polluted":true}}') as object;
  expect(Object.assign({}, args)).toHaveProperty('polluted', true);
});

test('A14 no refusal reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});

function edit(good: RawRequest, from: string | RegExp, to: string): RawRequest {
  const body = (good.body as string).replace(from, () => to);
  return withBody(good, body);
}

function ask(version: Version, port: number, [method, params]: [string, object]): RawRequest {
  const meta = version === '2026-07-28' ? { _meta: modernMeta } : {};
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, ...meta } });
  return withHeader(withBody(goodCall(version, port), body), 'Mcp-Method', method);
}
