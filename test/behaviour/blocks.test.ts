import { expect, test } from 'vitest';
import { content, defineTool } from '../../src/index.ts';
import { describeMatrix } from './matrix.ts';

const pixel = Uint8Array.of(0x89, 0x50, 0x4e, 0x47);
const mixed = defineTool({ name: 'mixed', description: 'Returns a block of every kind.' }, () => [
  {
    ...content.text('A chart, a sound and two files:', {
      audience: ['user'],
      priority: 0.9,
      lastModified: new Date(0),
    }),
    _meta: { 'com.example/a': 1 },
  },
  content.image(pixel, 'image/png'),
  content.audio(pixel, 'audio/wav'),
  content.resourceLink({
    uri: 'file:///report.md',
    name: 'report.md',
    description: 'The report',
    mimeType: 'text/markdown',
  }),
  content.resource({ uri: 'file:///notes.txt', title: 'Notes', mimeType: 'text/plain', text: 'Remember.' }),
  {
    type: 'resource',
    resource: { uri: 'file:///pixel.png', mimeType: 'image/png', blob: 'iVBORw==', _meta: { b: 1 } },
    annotations: { lastModified: '2026-01-01' },
  },
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

describeMatrix(({ audio, links, titles, connect }) => {
  test('content blocks of every kind arrive whole and in order, as text where the revision lacks the kind (000-14, 003-11, 004-09, 004-10, 004-11, 004-26)', async () => {
    const peer = await connect({ tools: [mixed] });
    expect((await peer.call('mixed')).content).toEqual([
      {
        type: 'text',
        text: 'A chart, a sound and two files:',
        annotations: {
          audience: ['user'],
          priority: 0.9,
          ...(titles && { lastModified: '1970-01-01T00:00:00.000Z' }),
        },
        ...(titles && { _meta: { 'com.example/a': 1 } }),
      },
      { type: 'image', data: 'iVBORw==', mimeType: 'image/png' },
      audio ? audioBlock : audioText,
      links ? linkBlock : linkText,
      {
        type: 'resource',
        // No revision has titles here, and strict clients refuse what theirs does not have.
        resource: { uri: 'file:///notes.txt', mimeType: 'text/plain', text: 'Remember.' },
      },
      {
        type: 'resource',
        resource: {
          uri: 'file:///pixel.png',
          mimeType: 'image/png',
          blob: 'iVBORw==',
          ...(titles && { _meta: { b: 1 } }),
        },
        ...(titles && { annotations: { lastModified: '2026-01-01' } }),
      },
    ]);
  });
});
