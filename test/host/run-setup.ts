import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { sendStream, startEndpoint, streamOf, type ModelEndpoint } from './model-endpoint.ts';

const chunk = (delta: object, finish: string | null = null): object => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});

/** The stream of a model that answers in words. */
export const words = (text: string): string =>
  streamOf([chunk({ content: text }), chunk({}, 'stop')], 'data: [DONE]\n\n');

/** The stream of a model that calls a tool. */
export const call = (name: string, args: object): string =>
  streamOf(
    [
      chunk({ tool_calls: [{ index: 0, id: 'c1', function: { name, arguments: JSON.stringify(args) } }] }),
      chunk({}, 'tool_calls'),
    ],
    'data: [DONE]\n\n',
  );

/** An agent in a file and its model, all on this machine. */
export interface RunSetup {
  readonly model: ModelEndpoint;
  readonly folder: string;
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Writes an agent with one trusted server, whose model gives the answers one after the other. */
export async function setUpRun(url: string, answers: readonly string[]): Promise<RunSetup> {
  const model = await startEndpoint((response, number) =>
    sendStream(response, answers[number] ?? words('Nothing more.')),
  );
  onTestFinished(() => model.close());
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'toolcrib-run-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'agent.yaml');
  writeFileSync(
    file,
    `name: adder\ninstructions: Add.\nmodel: { name: tiny, baseUrl: "${model.url}/v1", keyVariable: TINY_KEY }\n` +
      `mcpServers:\n  calc: { url: "${url}", tools: "*", trust: trusted }\n`,
  );
  return { model, folder, file, env: { XDG_CONFIG_HOME: folder, TINY_KEY: 'key-of-the-tiny-one' } };
}
