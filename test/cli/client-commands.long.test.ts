import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { definePrompt, defineResource, defineTool, ToolRegistry } from '../../src/index.ts';
import { cli } from '../behaviour/child.ts';
import { serve } from '../client/peers.ts';
import { startServedSite, visit, type Site } from '../sign-in-site.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/client-commands.md'), 'utf8');
const examples = [...page.matchAll(/```sh\n([^]*?)```/g)]
  .flatMap(([, block = '']) => block.split('\n'))
  .filter((line) => line !== '');

function library(): ToolRegistry {
  const describe = (name: string): string => `Tells ${name}.`;
  const forecast = defineTool(
    {
      name: 'forecast',
      description: describe('the weather'),
      input: z.object({ city: z.string(), days: z.number().optional() }),
    },
    ({ city }) => `Sun in ${city}.`,
  );
  const time = defineTool(
    {
      name: 'get_time',
      description: describe('the time'),
      input: z.object({ timezone: z.string().optional() }),
    },
    () => 'noon',
  );
  const search = defineTool(
    { name: 'search_issues', description: describe('issues'), input: z.object({ query: z.string() }) },
    () => 'none',
  );
  const summarise = definePrompt(
    { name: 'summarise', arguments: { city: { required: true, complete: () => ['Bern'] } } },
    ({ city }) => `Tell me about ${city}.`,
  );
  const note = defineResource({ uri: 'note://today', name: 'today' }, () => 'A note.');
  return new ToolRegistry()
    .registerTool(forecast, time, search)
    .registerPrompt(summarise)
    .registerResource(note);
}

interface Prepared {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

// A folder in which `toolcrib` and `npx toolcrib` are the command that was built, and files name the server.
function prepare(url: string): Prepared {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['bin', 'other']) mkdirSync(join(folder, name));
  const run = `exec ${JSON.stringify(process.execPath)} ${JSON.stringify(cli)} "$@"\n`;
  writeFileSync(join(folder, 'bin/toolcrib'), `#!/bin/sh\n${run}`);
  writeFileSync(join(folder, 'bin/npx'), `#!/bin/sh\nshift\n${run}`);
  for (const name of ['toolcrib', 'npx']) chmodSync(join(folder, 'bin', name), 0o755);
  writeFileSync(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: { github: { url } } }));
  writeFileSync(join(folder, 'other/mcp.json'), JSON.stringify({ mcpServers: { db: { url } } }));
  writeFileSync(join(folder, 'arguments.json'), '{"city":"Bern"}');
  const path = `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`;
  const env = { ...process.env, PATH: path, HOME: folder, XDG_CONFIG_HOME: join(folder, '.config'), CI: '1' };
  return { folder, env };
}

/** Runs one line, and signs in as a browser would where a page is printed for that; `undefined` if it went well. */
async function problemWith(line: string, { folder, env }: Prepared): Promise<string | undefined> {
  const child = spawn('bash', ['-o', 'pipefail', '-c', line], { cwd: folder, env, timeout: 60_000 });
  let output = '';
  let isAsked = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      // What goes on until Ctrl-C is ended by it.
      if (output.startsWith('watching')) child.kill('SIGINT');
      const link = output.includes('Paste') ? /^ {2}(http\S+)$/m.exec(output)?.[1] : undefined;
      if (link === undefined || isAsked) return;
      isAsked = true;
      void visit(link).then((address) => child.stdin.end(`${address}\n`));
    });
  if (!line.startsWith('toolcrib login')) child.stdin.end();
  const code = await new Promise((resolve) => child.once('close', resolve));
  return code === 0 ? undefined : `${line}\n${String(code)} ${output}`;
}

test('every example of docs/client-commands.md runs, those of signing in with a server that wants it', async () => {
  const url = await serve(library());
  const prepared = prepare(url);
  expect(examples.length).toBeGreaterThan(25);
  const sites: Site[] = [];
  const failed: string[] = [];
  for (const example of examples) {
    if (example.startsWith('toolcrib login')) sites.push(await startServedSite());
    const isSignIn = /^toolcrib log(?:in|out)/.test(example);
    const target = isSignIn ? sites.at(-1)!.url : url;
    const line = example.replaceAll(/https?:\/\/(?:127\.0\.0\.1:8484|mcp\.example\.com)\/mcp/g, target);
    const problem = await problemWith(line, prepared);
    if (problem !== undefined) failed.push(problem);
  }
  expect(failed).toEqual([]);
  expect(sites.map(({ authority }) => authority.at('/token').length)).toEqual([1, 1]);
}, 180_000);
