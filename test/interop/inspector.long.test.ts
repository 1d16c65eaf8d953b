import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startNode } from '../behaviour/child.ts';
import { serve } from '../served.ts';
import { INSPECTOR } from '../../src/cli/connect/inspector.ts';
import { openFixture, type Fixture } from './cells.ts';
import { cache, INSTALL_MS, installInto } from './install.ts';

const { name, version } = INSPECTOR;
const folder = join(cache, 'inspector');
const inspector = join(folder, 'node_modules', name, 'clients/launcher/build/index.js');
const cells = (['legacy', 'auto', 'modern'] as const).flatMap((era) =>
  (['HTTP', 'stdio'] as const).map((transport) => ({ era, transport })),
);

let missing: string | undefined;
beforeAll(async () => {
  missing = await installInto(folder, { [name]: version });
}, INSTALL_MS + 10_000);
beforeEach(({ skip }) => skip(missing !== undefined, missing));

test('the command that serve prints lists the tools, with a key', async () => {
  const { greeting, keys } = await serve({ config: { tools: { ready: { ping: {} } } } });
  const printed = `npx ${name}@${version} `;
  const line = greeting.split('\n').find((one) => one.includes(printed))!;
  const words = line.slice(line.indexOf(printed) + printed.length).replace('YOUR-KEY', keys.ada);
  const args = [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
  const home = await mkdtemp(join(tmpdir(), 'inspector-'));
  onTestFinished(() => rm(home, { recursive: true }));
  const child = startNode([inspector, ...args], { HOME: home, USERPROFILE: home });
  const [output] = await Promise.all([text(child.process.stdout), child.exit]);
  expect(JSON.parse(output)).toMatchObject({ tools: [{ name: 'ping' }] });
}, 60_000);

describe.each(cells)('The Inspector ($era) over $transport', ({ era, transport }) => {
  let shop: Fixture;
  let home: string;
  beforeAll(async () => {
    shop = await openFixture('tool-shop', transport);
    // It keeps a catalogue in its user's home.
    home = await mkdtemp(join(tmpdir(), 'inspector-'));
    return async () => {
      await shop.close();
      await rm(home, { recursive: true });
    };
  });

  async function inspect(...options: string[]): Promise<{ code: number | null; output: { result: object } }> {
    const { address } = shop;
    const target =
      'url' in address
        ? [address.url, '--transport', 'http', ...options]
        : [...options, '--', address.command, ...address.args];
    const args = [inspector, '--cli', '--protocol-era', era, '--format', 'json', ...target];
    const child = startNode(args, { HOME: home, USERPROFILE: home });
    const [output, { code }] = await Promise.all([text(child.process.stdout), child.exit]);
    if (output === '') throw new Error(`The Inspector said nothing: ${child.complaints()}`);
    return { code, output: JSON.parse(output) };
  }

  test('lists the tools of all pages and accepts every schema', async () => {
    const { code, output } = await inspect('--method', 'tools/list', '--strict');
    expect(code).toBe(0);
    expect(output.result).toMatchObject({
      tools: expect.arrayContaining([
        expect.objectContaining({ name: 'count_to' }),
        expect.objectContaining({ name: 'wait_forever' }),
      ]),
    });
  });

  test('calls a tool', async () => {
    const call = ['--method', 'tools/call', '--tool-name', 'get_weather', '--tool-arg', 'place=Zürich'];
    const { code, output } = await inspect(...call);
    expect(code).toBe(0);
    expect(output.result).toMatchObject({
      structuredContent: { place: 'Zürich', degrees: 21, unit: 'celsius' },
      isError: false,
    });
  });
});
