import { expect, test, vi } from 'vitest';
import { definePrompt, defineResource, defineTool } from '../../src/index.ts';
import { openCrib } from '../gateway.ts';
import { requestAnswering } from './answering.ts';
import { reads, versions } from './governed-tools.ts';
import { revisions } from './matrix.ts';

const token = `ghp_${'0123456789'.repeat(4).slice(0, 36)}`;
const dirty = `before\u001B[31m\u0000${token}\u200Bafter`;

test('every output is cleaned: texts, data, failures, resources, prompts and suggestions, in every revision (002-22, 003-19, 004-19)', async () => {
  const crib = await openCrib({
    offers: [
      defineTool({ name: 'says', description: 'Says.', ...reads }, () => dirty),
      defineTool({ name: 'data', description: 'Gives data.', output: { type: 'object' }, ...reads }, () => ({
        deep: [{ text: dirty, [`key ${token}`]: 1 }],
      })),
      defineTool({ name: 'fails', description: 'Fails.', ...reads }, () => ({ error: dirty })),
      defineTool({ name: 'meta', description: 'Says more.', ...reads }, () => ({
        content: [{ type: 'text', text: 'x', _meta: { note: dirty } }],
        _meta: { note: dirty },
      })),
      defineResource({ uri: 'note://a', name: 'a' }, () => dirty),
      definePrompt({ name: 'p', arguments: { x: { complete: () => [dirty] } } }, () => dirty),
    ],
  });
  for (const version of versions) {
    const peer = await crib.connect('ada', { version });
    const answers = [
      await peer.call('says'),
      await peer.call('data'),
      await peer.call('fails'),
      await peer.call('meta'),
      await peer.result('resources/read', { uri: 'note://a' }),
      await peer.result('prompts/get', { name: 'p' }),
      await peer.result('completion/complete', {
        ref: { type: 'ref/prompt', name: 'p' },
        argument: { name: 'x', value: '' },
      }),
    ];
    expect(answers).toHaveLength(7);
    for (const answer of answers) {
      const whole = JSON.stringify(answer);
      expect([version, whole, leftIn(whole)]).toEqual([version, whole, []]);
      expect(whole).toMatch(/before|note/);
    }
  }
  crib.configure({ stages: { sanitize: false } });
  await crib.reload();
  const control = JSON.stringify(await (await crib.connect('ada')).call('says'));
  expect(leftIn(control)).toEqual(['token', 'escape', 'nul', 'invisible']);
});

function leftIn(whole: string): string[] {
  const signs = { token, escape: '\\u001b', nul: '\\u0000', invisible: '\u200B' };
  return Object.entries(signs)
    .filter(([, sign]) => whole.includes(sign))
    .map(([name]) => name);
}

test('output over the size limit is cut, or refused where it cannot be cut (002-22)', async () => {
  const crib = await openCrib({
    offers: [
      defineTool({ name: 'long', description: 'Talks.', ...reads }, () => 'x'.repeat(5_000)),
      defineTool({ name: 'large', description: 'Gives data.', ...reads }, () => ({ all: 'x'.repeat(5_000) })),
    ],
    config: { stages: { sanitize: { maxBytes: 2_000 } } },
  });
  for (const version of versions) {
    const peer = await crib.connect('ada', { version });
    const long = await peer.call('long');
    expect(long.content[0]!.text).toMatch(/^x+\n\[cut here: [\d,]+ of 5,000 bytes shown\]$/);
    expect(long.content[0]!.text.length).toBeLessThan(2_100);
    expect((await peer.call('large')).isError).toBe(true);
  }
});

test('progress, log messages and questions of a running tool are cleaned too (002-22, 003-19, 004-19)', async () => {
  const tool = defineTool({ name: 'talks', description: 'Talks.', ...reads }, async (_args, context) => {
    context.progress(1, 2, dirty);
    context.log('error', { deep: [dirty] }, dirty);
    await context.elicit({
      message: dirty,
      schema: { type: 'object', properties: { yes: { type: 'boolean', description: dirty } } },
      key: 'sure',
    });
    return 'said';
  });
  const crib = await openCrib({ offers: [tool] });
  for (const { version, era, messages, asks } of revisions) {
    const capabilities = { elicitation: { form: {} } };
    const peer = await crib.connect('ada', { version, capabilities });
    if (era === 'legacy') await peer.result('logging/setLevel', { level: 'debug' });
    const logLevel = { 'io.modelcontextprotocol/logLevel': 'debug' };
    const _meta = { progressToken: 'p', ...(era === 'modern' && logLevel) };
    const { asked } = await requestAnswering(
      peer,
      { method: 'tools/call', params: { name: 'talks', arguments: {}, _meta } },
      () => ({ action: 'accept', content: { yes: true } }),
    );
    const said = peer.wire.heard
      .map((text) => JSON.parse(text) as { readonly method?: string })
      .filter(({ method }) => method !== undefined);
    const methods = new Set(said.map(({ method }) => String(method)));
    expect([version, [...methods].filter((method) => method.startsWith('notifications/'))]).toEqual([
      version,
      ['notifications/progress', 'notifications/message'],
    ]);
    expect(asked).toHaveLength(asks === 'not' ? 0 : 1);
    const whole = JSON.stringify([said, asked]);
    expect([version, whole, leftIn(whole)]).toEqual([version, whole, []]);
    expect(whole.split('before').length - 1).toBeGreaterThanOrEqual(2 + (messages ? 1 : 0));
  }
});

test('a tool result that is not JSON is a failure for the client, in the record and in the metrics alike', async () => {
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  const values = { big: 10n, inside: { a: 10n }, circle };
  const offers = Object.entries(values).flatMap(([name, value]) => [
    defineTool({ name, description: 'Counts.', ...reads }, () => value),
    defineTool({ name: `${name}_later`, description: 'Counts.' }, (_args, { detach }) => {
      detach();
      return value;
    }),
  ]);
  const crib = await openCrib({ offers });
  const extensions = { 'io.modelcontextprotocol/tasks': {} };
  for (const peer of [await crib.connect('ada'), await crib.connect('ada', { capabilities: { extensions } })])
    for (const { name } of offers) await peer.call(name);
  await vi.waitFor(
    () => expect(crib.rows().filter(({ kind }) => kind !== 'intent')).toHaveLength(offers.length * 2),
    { timeout: 10_000 },
  );
  const rows = crib.rows().filter(({ kind }) => kind !== 'intent');
  expect(new Set(rows.map(({ outcome }) => outcome))).toEqual(new Set(['tool_failed']));
  const metrics = await (
    await fetch(new URL('/metrics', crib.url), { headers: { authorization: `Bearer ${crib.keys.watcher}` } })
  ).text();
  expect(metrics).toContain('toolcrib_calls_total{tool="inside",outcome="tool_failed"} 2');
  expect(metrics).not.toMatch(/outcome="done"\} [1-9]/);
  const { isError, content } = await (await crib.connect('ada')).call('inside');
  expect([isError, content[0]!.text]).toEqual([
    true,
    expect.stringMatching(/^inside returned something that is not JSON \(incident \w{8}\)\.$/),
  ]);
});
