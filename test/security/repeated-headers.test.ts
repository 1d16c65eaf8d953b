import { expect, test } from 'vitest';
import { deliver, goodCall, knock, measured, versions, withExtra, withHeader, without } from './attack.ts';
import { signsIn } from './people.ts';
import { leakedAnswers, talk, toBytes } from './raw-http.ts';
import { routes } from './routes.ts';
import { product } from './target.ts';

const single = [
  'Host',
  'Authorization',
  'Content-Type',
  'Content-Length',
  'Content-Encoding',
  'Transfer-Encoding',
  'Origin',
  'X-Api-Key',
];
const mirrored = ['Mcp-Name', 'Mcp-Method', 'MCP-Protocol-Version', 'Mcp-Session-Id', 'Mcp-Param-Anything'];

for (const version of versions) {
  test.each([...single, ...mirrored])(`A13 a repeated %s is refused in ${version}`, async (name) => {
    const target = await product();
    const good = goodCall(version, target.port);
    const value = good.headers.find(([other]) => other === name)?.[1] ?? 'x';
    const once = withHeader(good, name, value);
    const { answer, ran } = await deliver(target, withExtra(once, name.toLowerCase(), value));
    expect({ status: answer.status, ran }).toEqual({ status: 400, ran: 0 });
  });

  test(`A13 control: other headers may be repeated in ${version}`, async () => {
    const target = await product();
    const good = withHeader(goodCall(version, target.port), 'X-Custom', 'a');
    const { answer, ran } = await deliver(
      target,
      withExtra(withExtra(good, 'X-Custom', 'b'), 'Accept', '*/*'),
    );
    expect({ status: answer.status, ran }).toEqual({ status: 200, ran: 1 });
  });
}

for (const route of routes) {
  test.each([...single, ...mirrored])(
    `A13 a repeated %s is refused for ${route.name}, and the good request is served afterwards`,
    async (name) => {
      const target = await product({ ...signsIn, sse: true });
      const good = await route.good(target);
      const value = good.headers.find(([other]) => other === name)?.[1] ?? 'x';
      const twice = withExtra(withHeader(good, name, value), name.toLowerCase(), value);
      expect(await knock(target, twice)).toEqual({ status: 400, ran: 0 });
      expect((await knock(target, good)).status).toBe(route.status);
    },
  );

  test(`A13 65 headers are refused for ${route.name}, and 60 are not`, async () => {
    const target = await product({ ...signsIn, sse: true });
    const good = await route.good(target);
    const many = (count: number): typeof good => ({
      ...good,
      headers: [...good.headers, ...Array.from({ length: count }, () => ['X', 'y'] as const)],
    });
    expect(await knock(target, many(65))).toEqual({ status: 400, ran: 0 });
    expect((await knock(target, many(60 - good.headers.length))).status).toBe(route.status);
  });

  test(`A13 after a refused request for ${route.name}, a request sent behind it is not run`, async () => {
    const target = await product({ ...signsIn, sse: true });
    const good = without(await route.good(target), 'Connection');
    const spoilt = withExtra(good, 'X-Api-Key', 'a');
    const refused = toBytes(measured(withExtra(spoilt, 'X-Api-Key', 'b')));
    const before = target.runs();
    const answers = await talk(target.port, Buffer.concat([refused, toBytes(measured(good))]));
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(target.runs()).toBe(before);
    expect((await knock(target, good)).status).toBe(route.status);
  });

  test(`A13 another version of HTTP is refused for ${route.name}`, async () => {
    const target = await product({ ...signsIn, sse: true });
    const good = await route.good(target);
    const line = good.line.replace('HTTP/1.1', 'HTTP/1.2');
    expect(await knock(target, { ...good, line })).toEqual({ status: 400, ran: 0 });
    expect((await knock(target, good)).status).toBe(route.status);
  });
}

test('A13 no refusal of a repeated header reveals anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});
