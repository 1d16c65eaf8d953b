import { expect, test } from 'vitest';
import { definePrompt, defineTool, type Tool } from '../../src/index.ts';
import { openCrib, type Crib, type RecordRow } from '../gateway.ts';
import { runCommandLine } from './run-command-line.ts';

type Arguments = Record<string, unknown[]>;

// What a tool does to its own arguments.
const spoil = (args: unknown): string => {
  (args as Arguments)['list']!.push('MUTATED');
  return 'ok';
};

function spoiler(name: string, part: Partial<Tool> = {}): Tool {
  const inputSchema = { type: 'object', properties: { list: { type: 'array' } } } as const;
  return { name, description: 'Spoils what it is given.', inputSchema, handler: spoil, ...part };
}

const readOnly = { annotations: { readOnlyHint: true } };

test.each(['hashed', 'preview'] as const)(
  'the arguments on record (%s) are what the caller sent, even if the tool changes them',
  async (show) => {
    const tools = [
      spoiler('reads', readOnly),
      spoiler('acts'),
      spoiler('decides', { authorize: (args) => spoil(args) === 'ok' }),
      spoiler('asks', { ...readOnly, authorize: (args) => spoil(args) === 'ok' }),
      spoiler('refuses', { ...readOnly, authorize: (args) => spoil(args) }),
      defineTool({ name: 'plain', description: 'Does nothing.', ...readOnly }, () => 'ok'),
    ];
    const prompt = definePrompt({ name: 'greet', arguments: { who: {} } }, (args) => {
      (args as Record<string, string>)['who'] = 'MUTATED';
      return 'hi';
    });
    const crib = await openCrib({
      offers: [...tools, prompt],
      config: { stages: { audit: { arguments: show } } },
    });
    const peer = await crib.connect('ada');
    for (const { name } of tools) await peer.call(name, { list: [1] });
    await peer.request('prompts/get', { name: 'greet', arguments: { who: 'Eve' } });
    const said = tools.map(({ name }) => {
      const [row] = crib.rowsOf(name);
      return row![show === 'hashed' ? 'arguments' : 'preview'];
    });
    if (show === 'preview') {
      expect(said).toEqual(tools.map(() => '{"list":[1]}'));
      expect(promptRow(crib)).toMatchObject({ preview: '{"who":"Eve"}' });
    }
    // The same arguments have the same digest.
    expect(new Set(said).size).toBe(1);
  },
);

test('the outcome of a call with effects can be searched by its caller', async () => {
  const crib = await openCrib({ offers: [spoiler('pay')] });
  await (await crib.connect('ada')).call('pay', { list: [] });
  await (await crib.connect('bob')).call('pay', { list: [] });
  const search = ['search', '--caller', 'ada', '--tool', 'pay', '--outcome', 'done', '--json'];
  const found = (await runAudit(crib, search)).split('\n').slice(0, -1);
  expect(found.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { kind: 'outcome', tenant: 'north', caller: 'ada', credential: 'key_0', tool: 'pay', outcome: 'done' },
  ]);
  const exported = (await runAudit(crib, ['export', '--caller', 'bob'])).split('\n').slice(0, -1);
  expect(exported.map((line) => (JSON.parse(line) as RecordRow)['kind'])).toEqual(['intent', 'outcome']);
});

test('the table shows whether a person approved or denied a call, and who it was', async () => {
  const annotations = { destructiveHint: true };
  const crib = await openCrib({
    offers: [spoiler('wipe', { annotations })],
    config: { stages: { approve: { mode: 'operator' } } },
  });
  const peer = await crib.connect('ada');
  for (const decision of ['approve', 'deny']) {
    const { content } = await peer.call('wipe', { list: [decision] });
    const [id] = /apr_\w+/.exec(content[0]!.text)!;
    await runCommand(crib, ['approvals', decision, id], { SUDO_USER: 'grace' });
  }
  const table = await runAudit(crib, ['tail', '--operator']);
  expect(table).toMatch(/ north +grace +operator +call approved: wipe +-\n/);
  expect(table).toMatch(/ north +grace +operator +call denied: wipe +-\n/);
});

/** What `toolcrib audit` says about a gateway. */
function runAudit(crib: Crib, args: readonly string[]): Promise<string> {
  return runCommand(crib, ['audit', ...args]);
}

async function runCommand(
  crib: Crib,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { code, output } = await runCommandLine([...args, '--config', crib.path('toolcrib.yaml')], env);
  expect(code).toBe(0);
  return output;
}

function promptRow(crib: Crib): unknown {
  return crib.rows().find(({ prompt }) => prompt === 'greet');
}
