import { defineResource, defineResourceTemplate } from 'toolcrib';
import { pixel } from './fixture-tools.ts';

/** Resources the suite reads and subscribes to. */
export const resources = [
  defineResource(
    {
      uri: 'test://static-text',
      name: 'static-text',
      description: 'A text that never changes.',
      mimeType: 'text/plain',
    },
    () => 'This is the content of the static text resource.',
  ),
  defineResource(
    {
      uri: 'test://static-binary',
      name: 'static-binary',
      description: 'A picture that never changes.',
      mimeType: 'image/png',
    },
    () => Buffer.from(pixel, 'base64'),
  ),
  defineResource(
    {
      uri: 'test://watched-resource',
      name: 'watched-resource',
      description: 'A text that clients can watch.',
      mimeType: 'text/plain',
    },
    () => 'Watched resource content',
  ),
  defineResourceTemplate(
    {
      uriTemplate: 'test://template/{id}/data',
      name: 'template',
      description: 'Data by id.',
      mimeType: 'application/json',
    },
    ({ id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
  ),
];
