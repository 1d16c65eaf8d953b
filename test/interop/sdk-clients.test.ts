import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { cli } from '../behaviour/child.ts';
import { deferred } from '../behaviour/deferred.ts';
import { cells, kinds, openFixture } from './cells.ts';
import type { SdkClient } from './clients.ts';
import { firstFew } from '../property-runs.ts';

describe.each(firstFew(cells, 4))('$kind over $transport:', ({ version, transport, connect }) => {
  let client: SdkClient;
  beforeAll(async () => {
    const shop = await openFixture('tool-shop', transport);
    client = await connect(shop.address);
    return async () => {
      await client.close();
      await shop.close();
    };
  });

  test('the client and the server exchange their names and versions', async () => {
    expect(client.serverName).toBe('tool-shop');
    expect((await client.callTool('describe_client')).structuredContent).toEqual({
      name: 'interop',
      protocolVersion: version,
    });
  });

  test('lists the tools of all pages', async () => {
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'count_to',
      'describe_client',
      'draw_chart',
      'explode',
      'get_weather',
      'hear_of_cancellation',
      'list_issues',
      'list_places',
      'stop',
      'wait_forever',
    ]);
    expect(tools.find(({ name }) => name === 'get_weather')).toMatchObject({
      title: 'Weather',
      inputSchema: { type: 'object', required: ['place'] },
      outputSchema: { type: 'object', required: ['place', 'degrees', 'unit'] },
      annotations: { readOnlyHint: true },
    });
  });

  test('calls tools, checks their output against the schema, and gets failures as results', async () => {
    await client.listTools();
    expect(await client.callTool('get_weather', { place: 'Zürich' })).toMatchObject({
      structuredContent: { place: 'Zürich', degrees: 21, unit: 'celsius' },
      content: [{ type: 'text', text: expect.stringContaining('"degrees": 21') }],
      isError: false,
    });
    const lost = await client.callTool('get_weather', { place: 'Atlantis' });
    expect(lost).toMatchObject({
      content: [{ text: expect.stringContaining('no weather station') }],
      isError: true,
    });
    expect(lost).not.toHaveProperty('structuredContent');
    expect(await client.callTool('get_weather', { place: '' })).toMatchObject({ isError: true });
    const broken = await client.callTool('explode');
    expect(broken).toMatchObject({
      content: [{ text: expect.stringMatching(/incident \w+/) }],
      isError: true,
    });
  });

  test('gets a list as structured output, in the form of its revision', async () => {
    await client.listTools();
    const places = ['Zürich', '京都'];
    expect((await client.callTool('list_places')).structuredContent).toEqual(
      version === '2026-07-28' ? places : { result: places },
    );
  });

  test('gets content of every kind', async () => {
    const { content } = await client.callTool('draw_chart');
    expect(content).toEqual([
      { type: 'text', text: 'The chart:' },
      { type: 'image', data: 'AQID', mimeType: 'image/png' },
      { type: 'audio', data: 'BAUG', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'file:///chart.svg', name: 'chart.svg', mimeType: 'image/svg+xml' },
      { type: 'resource', resource: { uri: 'file:///data.csv', mimeType: 'text/csv', text: 'a,b' } },
    ]);
  });

  test('gets progress', async () => {
    const steps: unknown[] = [];
    const heard = deferred();
    const onprogress = (progress: { progress: number }): void => {
      steps.push(progress);
      if (progress.progress === 3) heard.resolve();
    };
    const counted = client.callTool('count_to', { n: 3 }, { onprogress });
    await heard.promise;
    await client.callTool('stop');
    expect(await counted).toMatchObject({ content: [{ text: 'counted to 3' }] });
    expect(steps).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` })));
  });

  test('repeats arguments in headers where the revision asks for it', async () => {
    await client.listTools();
    const { content } = await client.callTool('list_issues', { owner: 'größe inc.', repo: 'crib' });
    expect(content).toEqual([{ type: 'text', text: 'no issues in größe inc./crib' }]);
  });

  test('cancels a call', async () => {
    const controller = new AbortController();
    const options = { signal: controller.signal, onprogress: () => controller.abort() };
    await expect(client.callTool('wait_forever', {}, options)).rejects.toThrow();
    const { content } = await client.callTool('hear_of_cancellation');
    expect(content).toEqual([{ type: 'text', text: 'the wait was cancelled' }]);
  });

  test('gets an error for an unknown tool, not a result', async () => {
    await expect(client.callTool('no_such_tool')).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('Unknown tool: no_such_tool'),
    });
  });
});

describe.each(kinds)('$kind', ({ connect }) => {
  test('works with toolcrib serve --stdio', async () => {
    const client = await connect({ command: process.execPath, args: [cli, 'serve', '--stdio'] });
    onTestFinished(() => client.close());
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['get_time', 'ping', 'server_info']);
    expect((await client.callTool('ping', { message: 'hi' })).structuredContent).toMatchObject({
      message: 'hi',
    });
  });
});
