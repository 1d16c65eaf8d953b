import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cli } from '../behaviour/child.ts';
import type { Run } from '../behaviour/run-command-line.ts';
import { startModel, type AgentModel } from '../gateway/agent-model.ts';
import { workbench } from '../gateway/upstream-programs.ts';

const shout = `export const shout = { name: 'shout', description: 'Shouts.', annotations: { readOnlyHint: true },
  inputSchema: { type: 'object', properties: {} }, handler: () => 'HEY' };`;

interface Project {
  readonly model: AgentModel;
  readonly run: (...args: readonly string[]) => Promise<Run>;
}

async function setUp(answer: Parameters<typeof startModel>[0]): Promise<Project> {
  const model = await startModel(answer);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-run-gateway-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'tools'));
  writeFileSync(join(folder, 'tools/shout.mjs'), shout);
  const config = {
    store: { url: 'sqlite:${NOT_SET}/x.db' },
    tools: { modules: ['./tools/*.mjs'], ready: { ping: {}, get_time: {} } },
    mcpServers: { desk: workbench({ tools: ['plain', 'fill'], trust: 'trusted' }) },
    agents: {
      support: {
        description: 'Helps.',
        model: model.model,
        mcpServers: ['desk'],
        tools: ['desk.pl*', 'shout', 'ping', 'none_such'],
        agents: ['helper'],
      },
      helper: { model: model.model, tools: ['ping'] },
    },
  };
  writeFileSync(join(folder, 'toolcrib.yaml'), JSON.stringify(config, undefined, 2));
  const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: join(folder, 'settings') };
  const run = (...args: readonly string[]): Promise<Run> =>
    new Promise((resolve) => {
      const child = execFile(
        process.execPath,
        [cli, ...args],
        { cwd: folder, env, timeout: 30_000 },
        (_, output, complaints) => resolve({ code: child.exitCode, output, complaints }),
      );
      child.stdin?.end();
    });
  return { model, run };
}

test('toolcrib run finds an agent of toolcrib.yaml by its name, with its servers and its own tools', async () => {
  const steps = ['shout', 'plain', 'ask_helper'];
  const { run, model } = await setUp(({ results, tools }) => {
    if (!tools.includes('shout')) return 'I am the helper.';
    const next = steps[results.length];
    if (next === undefined) return results.join(' / ');
    return { tool: next, args: next === 'ask_helper' ? { question: 'Who?' } : {} };
  });
  const refused = await run('run', 'support', 'Go.');
  expect(refused.code).toBe(1);
  expect(refused.complaints).toContain('uses tools of toolcrib.yaml, and runs the code in ./tools/*.mjs');
  expect(refused.complaints).toContain('starts desk: ');
  expect(model.asked).toEqual([]);
  const { code, output, complaints } = await run('run', 'support', 'Go.', '--yes', '--mode', 'autonomous');
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('HEY') as string });
  expect(output).toContain('I am the helper.');
  expect(complaints).toContain('✓ desk: plain');
  expect(complaints).toContain('"none_such" matches no tool of toolcrib.yaml.');
  expect(model.asked[0]!.tools).toEqual(['ask_helper', 'ping', 'plain', 'shout']);
});

test('toolcrib agents lists and explains agents of toolcrib.yaml', async () => {
  const { run } = await setUp(() => 'never');
  const list = JSON.parse((await run('agents', 'list', '--json')).output) as {
    readonly agents: readonly Record<string, unknown>[];
  };
  expect(list.agents).toEqual([
    expect.objectContaining({ name: 'support', servers: ['desk'], file: 'toolcrib.yaml#support' }),
    expect.objectContaining({ name: 'helper', servers: [], file: 'toolcrib.yaml#helper' }),
  ]);
  const shown = await run('agents', 'show', 'support');
  expect(shown.output).toContain('of its own process: tools shout, ping, none_such');
  expect(shown.output).toContain('desk: tool plain (started as');
  const tools = JSON.parse((await run('agents', 'tools', 'support', '--yes', '--json')).output) as {
    readonly tools: readonly { readonly server?: string; readonly name: string; readonly shownAs?: string }[];
  };
  const seen = tools.tools.filter(({ shownAs }) => shownAs !== undefined);
  expect(seen.map(({ server, name }) => [server, name])).toEqual([
    [undefined, 'ping'],
    ['desk', 'plain'],
    [undefined, 'shout'],
  ]);
});
