import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { cells, openFixture, type Fixture } from './cells.ts';
import type { SdkClient } from './clients.ts';
import { firstFew } from '../property-runs.ts';

describe.each(firstFew(cells, 4))('$kind over $transport:', ({ version, transport, connect }) => {
  let workshop: Fixture;
  let client: SdkClient;
  beforeAll(async () => {
    workshop = await openFixture('workshop', transport);
    client = await connect(workshop.address);
    return async () => {
      await client.close();
      await workshop.close();
    };
  });

  test('the user can fill in a form or decline it', async () => {
    expect(await client.callTool('ask_form', { message: 'Which colour?' })).toMatchObject({
      structuredContent: { answer: { action: 'accept', content: { colour: 'red' } } },
      isError: false,
    });
    expect((await client.callTool('ask_form', { message: 'You may refuse.' })).structuredContent).toEqual({
      answer: { action: 'decline' },
    });
  });

  test('the user can be sent to a web page', async () => {
    expect((await client.callTool('ask_page')).structuredContent).toEqual({ answer: { action: 'accept' } });
  });

  test('the client’s model can be asked (sampling)', async () => {
    expect((await client.callTool('ask_model')).structuredContent).toEqual({
      model: 'parrot-1',
      content: { type: 'text', text: 'forty-two' },
    });
  });

  test('the client can be asked for its folders (roots)', async () => {
    expect((await client.callTool('ask_roots')).structuredContent).toEqual({
      roots: [{ uri: 'file:///home/ada', name: 'home' }],
    });
  });

  test('several questions are sent together, and more can follow', async () => {
    expect((await client.callTool('ask_much')).structuredContent).toEqual({
      form: 'accept',
      model: 'parrot-1',
      folders: 1,
      sure: 'decline',
    });
  });

  test('a client that cannot be asked gets an error that names the capability', async () => {
    const mute = await connect(workshop.address, { answers: false });
    onTestFinished(() => mute.close());
    const called = mute.callTool('ask_model');
    if (version === '2026-07-28') {
      await expect(called).rejects.toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { sampling: {} } },
      });
    } else {
      expect(await called).toMatchObject({
        content: [{ text: expect.stringContaining('a client that can do sampling') }],
        isError: true,
      });
    }
  });
});
