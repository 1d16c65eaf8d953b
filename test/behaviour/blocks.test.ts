import { expect, test } from 'vitest';
import { content, defineTool } from '../../src/index.ts';
import { describeMatrix } from './matrix.ts';

const pixel = Uint8Array.of(0x89, 0x50, 0x4e, 0x47);
const mixed = defineTool({ name: 'mixed', description: 'Returns a block of every kind.' }, () => [
  content.text('A chart, a sound and two files:', { audience: ['user'], priority: 0.9 }),
  content.image(pixel, 'image/png'),
  content.audio(pixel, 'audio/wav'),
  content.resourceLink({
    uri: 'file:///report.md',
    name: 'report.md',
    description: 'The report',
    mimeType: 'text/markdown',
  }),
  content.resource({ uri: 'file:///notes.txt', title: 'Notes', mimeType: 'text/plain', text: 'Remember.' }),
  content.resource({ uri: 'file:///pixel.png', mimeType: 'image/png', blob: pixel }),
]);

const audioBlock = { type: 'audio', data: 'iVBORw==', mimeType: 'audio/wav' };
const audioText = {
  type: 'text',
  text: "[audio, audio/wav: this client's protocol version cannot carry sound]",
};
const linkBlock = {
  type: 'resource_link',
  uri: 'file:///report.md',
  name: 'report.md',
  description: 'The report',
  mimeType: 'text/markdown',
};
const linkText = { type: 'text', text: '[report.md](file:///report.md): The report' };

describeMatrix(({ audio, links, connect }) => {
  test('000-14 003-11 004-09 004-10 004-11 004-26 blocks of every kind arrive whole and in order, as text where the revision lacks the kind', async () => {
    const peer = await connect({ tools: [mixed] });
    expect((await peer.call('mixed')).content).toEqual([
      {
        type: 'text',
        text: 'A chart, a sound and two files:',
        annotations: { audience: ['user'], priority: 0.9 },
      },
      { type: 'image', data: 'iVBORw==', mimeType: 'image/png' },
      audio ? audioBlock : audioText,
      links ? linkBlock : linkText,
      {
        type: 'resource',
        resource: { uri: 'file:///notes.txt', title: 'Notes', mimeType: 'text/plain', text: 'Remember.' },
      },
      { type: 'resource', resource: { uri: 'file:///pixel.png', mimeType: 'image/png', blob: 'iVBORw==' } },
    ]);
  });
});
