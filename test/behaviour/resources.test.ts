import { expect, test } from 'vitest';
import { defineResource, defineResourceTemplate, definePrompt, ToolRegistry } from '../../src/index.ts';
import { describeMatrix } from './matrix.ts';
import type { Json } from './peer.ts';

const notes = new Map([
  ['today', 'Buy chalk.'],
  ['tomorrow', 'Sell chalk.'],
]);
const allNotes = defineResource(
  {
    uri: 'note://all',
    name: 'all-notes',
    title: 'All notes',
    description: 'Every note there is.',
    mimeType: 'application/json',
    size: 42,
    annotations: { audience: ['user'], priority: 0.5, lastModified: '2026-01-01' },
    icons: [{ src: 'https://example.com/note.png' }],
    _meta: { 'com.example/team': 'notes' },
  },
  () => JSON.stringify([...notes.keys()]),
);
const picture = defineResource({ uri: 'note://picture', name: 'picture', mimeType: 'image/png' }, () =>
  Uint8Array.of(0x89, 0x50, 0x4e, 0x47),
);
const bundle = defineResource({ uri: 'note://bundle', name: 'bundle', mimeType: 'text/plain' }, () => [
  { text: 'first', title: 'First', _meta: { 'com.example/a': 1 } },
  { uri: 'note://bundle/2', mimeType: 'application/octet-stream', blob: Uint8Array.of(1, 2, 3) },
]);
const oneNote = defineResourceTemplate(
  {
    uriTemplate: 'note://day/{day}',
    name: 'note',
    title: 'One note',
    mimeType: 'text/plain',
    complete: { day: (typed) => [...notes.keys()].filter((day) => day.startsWith(typed)) },
  },
  ({ day }) => notes.get(day ?? ''),
);
const street = defineResourceTemplate(
  {
    uriTemplate: 'map://{city}/{street}',
    name: 'street',
    complete: {
      street: (typed, { arguments: chosen }) => [`${chosen['city'] ?? 'nowhere'}: ${typed}`],
      city: () => Array.from({ length: 120 }, (_, index) => `city ${index}`),
    },
  },
  ({ city, street: name }) => `${name} in ${city}`,
);
const resources = [allNotes, picture, bundle, oneNote, street];
const ref = (uri: string): Json => ({ type: 'ref/resource', uri });

describeMatrix(({ era, titles, icons, connect }) => {
  test('resources are listed with everything the revision defines for them (000-42)', async () => {
    const peer = await connect({ resources });
    const { resources: listed } = (await peer.result('resources/list')) as { resources: Json[] };
    expect(listed.map(({ uri }) => uri)).toEqual(['note://all', 'note://bundle', 'note://picture']);
    expect(listed[0]).toEqual({
      uri: 'note://all',
      name: 'all-notes',
      description: 'Every note there is.',
      mimeType: 'application/json',
      size: 42,
      annotations: { audience: ['user'], priority: 0.5, ...(titles && { lastModified: '2026-01-01' }) },
      ...(titles && { title: 'All notes', _meta: { 'com.example/team': 'notes' } }),
      ...(icons && { icons: [{ src: 'https://example.com/note.png' }] }),
    });
  });

  test('resource templates are listed apart from resources (000-42)', async () => {
    const peer = await connect({ resources });
    const { resourceTemplates } = await peer.result('resources/templates/list');
    expect(resourceTemplates).toEqual([
      { uriTemplate: 'map://{city}/{street}', name: 'street' },
      {
        uriTemplate: 'note://day/{day}',
        name: 'note',
        mimeType: 'text/plain',
        ...(titles && { title: 'One note' }),
      },
    ]);
  });

  test.each<[string, string, Json[]]>([
    ['text', 'note://all', [{ mimeType: 'application/json', text: '["today","tomorrow"]' }]],
    ['bytes', 'note://picture', [{ mimeType: 'image/png', blob: 'iVBORw==' }]],
    ['one of a template', 'note://day/today', [{ mimeType: 'text/plain', text: 'Buy chalk.' }]],
    ['variables, decoded', 'map://Z%C3%BCrich/Bahnhof%20West', [{ text: 'Bahnhof West in Zürich' }]],
    [
      'pieces',
      'note://bundle',
      [
        { mimeType: 'text/plain', text: 'first', _meta: { 'com.example/a': 1 } },
        { uri: 'note://bundle/2', mimeType: 'application/octet-stream', blob: 'AQID' },
      ],
    ],
  ])('a resource can be read: %s (000-42)', async (_what, uri, contents) => {
    const peer = await connect({ resources });
    const result = await peer.result('resources/read', { uri });
    expect(result['contents']).toEqual(
      contents.map(({ _meta, ...piece }) => ({
        uri,
        ...piece,
        ...(titles && _meta !== undefined && { _meta }),
      })),
    );
    if (era === 'modern')
      expect(result).toMatchObject({ resultType: 'complete', ttlMs: 5_000, cacheScope: 'private' });
    else expect(Object.keys(result)).toEqual(['contents']);
  });

  test.each([
    ['nobody serves', 'note://nothing'],
    ['a template matches but its read does not know', 'note://day/yesterday'],
    ['looks like a way out', 'note://day/..%2F..%2Fetc'],
    ['has a broken escape where a template has its value', 'note://day/%zz'],
    ['has half an escape there', 'note://day/%'],
    ['has part of a character there', 'note://day/%E0%A4'],
    ['has a broken escape in the first of two values', 'map://%C3%28/x'],
  ])('an address that %s is unknown, with the error code of the revision (000-42)', async (_what, uri) => {
    const peer = await connect({ resources });
    expect(await peer.error('resources/read', { uri })).toEqual({
      code: era === 'modern' ? -32602 : -32002,
      message: `Unknown resource: ${uri}`,
      data: { uri },
    });
  });

  test('an address that is not text is a protocol error', async () => {
    const peer = await connect({ resources });
    // Over HTTP a modern client could not even put it into a header.
    for (const params of [{}, { uri: 7 }])
      expect(await peer.error('resources/read', params)).toMatchObject({ code: -32602 });
  });

  test('an exception while reading is an internal error that reveals nothing, and is in the log', async () => {
    const cause = new Error('EACCES /etc/secrets');
    const broken = defineResource({ uri: 'note://broken', name: 'broken' }, () => {
      throw cause;
    });
    const peer = await connect({ resources: [broken] });
    const error = await peer.error('resources/read', { uri: 'note://broken' });
    expect(error).toMatchObject({ code: -32603, message: expect.stringMatching(/\(incident \w+\)\.$/) });
    expect(peer.wire.heard.join('')).not.toContain('secrets');
    expect(peer.logged).toMatchObject([{ facts: { target: 'broken', cause } }]);
  });

  test('resources and templates are listed in pages', async () => {
    const peer = await connect({ resources, pageSize: 2 });
    const first = await peer.result('resources/list');
    const second = await peer.result('resources/list', { cursor: first['nextCursor'] });
    expect(first['resources']).toHaveLength(2);
    expect(second['resources']).toMatchObject([{ uri: 'note://picture' }]);
    expect(second).not.toHaveProperty('nextCursor');
    expect((await peer.result('resources/templates/list'))['resourceTemplates']).toHaveLength(2);
    for (const method of ['resources/list', 'resources/templates/list'])
      expect(await peer.error(method, { cursor: 'page-2' })).toMatchObject({ code: -32602 });
  });

  test('a resource that is added or removed is listed, or not, from then on', async () => {
    const source = new ToolRegistry().registerResource(allNotes);
    const peer = await connect({ source });
    source.registerResource(picture);
    expect((await peer.result('resources/list'))['resources']).toHaveLength(2);
    source.removeResource('note://all');
    expect((await peer.result('resources/list'))['resources']).toMatchObject([{ uri: 'note://picture' }]);
    expect(await peer.error('resources/read', { uri: 'note://all' })).toMatchObject({ data: {} });
  });

  test('values of a template variable are suggested, at most a hundred', async () => {
    const peer = await connect({ resources });
    const complete = async (uri: string, argument: Json, more: Json = {}): Promise<unknown> =>
      (await peer.result('completion/complete', { ref: ref(uri), argument, ...more }))['completion'];
    expect(await complete('note://day/{day}', { name: 'day', value: 'tom' })).toEqual({
      values: ['tomorrow'],
      total: 1,
      hasMore: false,
    });
    expect(await complete('map://{city}/{street}', { name: 'city', value: '' })).toMatchObject({
      values: { length: 100 },
      total: 120,
      hasMore: true,
    });
    const context = { arguments: { city: 'Bern' } };
    expect(
      await complete('map://{city}/{street}', { name: 'street', value: 'Ma' }, { context }),
    ).toMatchObject({ values: ['Bern: Ma'] });
    expect(await complete('note://day/{day}', { name: 'month', value: '' })).toMatchObject({ values: [] });
  });

  test('completions for an unknown template are refused', async () => {
    const peer = await connect({ resources });
    const params = { ref: ref('note://{year}'), argument: { name: 'year', value: '' } };
    expect(await peer.error('completion/complete', params)).toMatchObject({
      code: era === 'modern' ? -32602 : -32002,
    });
  });
});

describeMatrix(
  ({ connect }) => {
    test.each(['note://nothing', 'note://day/%zz', 'note://day/%E0%A4'])(
      'a subscription to %s is refused as unknown',
      async (uri) => {
        const peer = await connect({ resources });
        expect(await peer.error('resources/subscribe', { uri })).toMatchObject({
          code: -32002,
          data: { uri },
        });
        expect(peer.logged).toEqual([]);
      },
    );
  },
  ({ hasSession }) => hasSession,
);

describeMatrix(({ connect }) => {
  test.each(['resources/list', 'resources/templates/list', 'resources/read'])(
    '%s is not a method of a server without resources',
    async (method) => {
      const peer = await connect({ prompts: [definePrompt({ name: 'p' }, () => 'p')] });
      expect(await peer.error(method, { uri: 'note://all' })).toMatchObject({ code: -32601 });
    },
  );
});
