import { expect, test } from 'vitest';
import { deliver, goodCall, versions, withExtra, withHeader } from './attack.ts';
import { leakedAnswers } from './raw-http.ts';
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

  test(`A13 other headers may be repeated in ${version}, so the tests above can fail`, async () => {
    const target = await product();
    const good = withHeader(goodCall(version, target.port), 'X-Custom', 'a');
    const { answer, ran } = await deliver(
      target,
      withExtra(withExtra(good, 'X-Custom', 'b'), 'Accept', '*/*'),
    );
    expect({ status: answer.status, ran }).toEqual({ status: 200, ran: 1 });
  });
}

test('A13 no refusal of a repeated header tells anything about the machine', () => {
  expect(leakedAnswers).toEqual([]);
});
