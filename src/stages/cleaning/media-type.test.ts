import { expect, test } from 'vitest';
import { Cleaner } from './cleaner.ts';
import { isSurelyLabelled, typeOfMedia } from './media-type.ts';

const png = '\x89PNG\r\n\x1a\n\0\0\0\rIHDR';
const base64 = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('base64');

test.each([
  ['image', 'image/png', png, 'image/png'],
  ['image', 'image/jpeg', png, 'image/png'],
  ['image', 'IMAGE/PNG; q=1', png, 'IMAGE/PNG; q=1'],
  ['image', 'image/png', '\xff\xd8\xff\xe0\0\x10JFIF', 'image/jpeg'],
  ['image', 'image/jpg', '\xff\xd8\xff\xe0\0\x10JFIF', 'image/jpg'],
  ['image', 'text/html', 'GIF89a<script>alert(1)</script>', 'image/gif'],
  ['image', 'image/png', 'RIFF\0\0\0\0WEBPVP8 ', 'image/webp'],
  ['image', 'image/png', '<html><script>alert(1)</script>', 'application/octet-stream'],
  ['image', 'image/svg+xml', '\n<!DOCTYPE html><script>', 'application/octet-stream'],
  ['image', 'image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg">', 'image/svg+xml'],
  ['image', 'image/png', '<svg onload="alert(1)">', 'application/octet-stream'],
  ['image', 'text/html', 'anything', 'application/octet-stream'],
  ['image', 'image/x-unknown', 'anything', 'image/x-unknown'],
  ['image', 'image/png', '%PDF-1.7', 'application/octet-stream'],
  ['image', 'image/png', 'RIFF\0\0\0\0WAVEfmt ', 'application/octet-stream'],
  ['audio', 'audio/mpeg', 'RIFF\0\0\0\0WAVEfmt ', 'audio/wav'],
  ['audio', 'audio/x-wav', 'RIFF\0\0\0\0WAVEfmt ', 'audio/x-wav'],
  ['audio', 'audio/wav', 'ID3\x04\0\0\0\0\0\0', 'audio/wav'],
  ['audio', 'image/png', 'ID3\x04\0\0\0\0\0\0', 'audio/mpeg'],
  ['audio', 'audio/wav', png, 'application/octet-stream'],
])('of an %s said to be %s, the first bytes decide: %j is %s', (...[type, mimeType, bytes, found]) => {
  const block = { type, mimeType, data: base64(bytes) };
  expect(typeOfMedia(block)).toBe(found);
  expect(isSurelyLabelled(block)).toBe(found === mimeType);
  const cleaner = new Cleaner({ maxBytes: 10_000, redact: undefined, escapeHtml: false });
  expect(cleaner.blocks([block])).toEqual([{ ...block, mimeType: found }]);
  // Data of a tool is no picture, whatever its fields are called.
  expect(cleaner.data([block])).toEqual([block]);
});

test('of a picture whose bytes are not known nothing is sure', () => {
  expect(isSurelyLabelled({ type: 'image', mimeType: 'image/png', data: '' })).toBe(false);
  expect(isSurelyLabelled({ type: 'text' })).toBe(true);
});
