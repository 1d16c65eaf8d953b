import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openCrib } from './gateway.ts';
import { openApi, sayJson } from './openapi-api.ts';

const petstore = readFileSync(join(import.meta.dirname, 'fixtures', 'openapi', 'petstore-3.0.yaml'), 'utf8');
const small = JSON.stringify({
  openapi: '3.1.0',
  servers: [{ url: 'https://small.example' }],
  paths: {
    '/pets/{id}': {
      get: { operationId: 'getPet', parameters: [{ name: 'id', in: 'path', required: true }] },
    },
  },
});
const files = { 'api/petstore.yaml': petstore, 'small.json': small };

test('a gateway serves the operations of an OpenAPI file, with a credential from the environment', async () => {
  const api = await openApi((response, { headers }) =>
    sayJson(response, { name: 'rex', tag: headers.authorization }),
  );
  const crib = await openCrib({
    files,
    env: { PETS_URL: api.url, PETS_TOKEN: 'pets-token-123456' },
    config: {
      tools: {
        ready: {},
        openapi: {
          file: './api/petstore.yaml',
          operations: ['GET /pets/*', 'createPet'],
          server: '${PETS_URL}',
          trustServer: true,
          credential: { bearer: '${PETS_TOKEN}' },
        },
      },
    },
  });
  const ada = await crib.connect('ada');
  const { tools } = await ada.list();
  expect(tools.map(({ name }) => name)).toEqual(['createPet', 'getPet']);
  const result = await ada.call('getPet', { petId: '7' });
  expect(result).toMatchObject({ structuredContent: { name: 'rex' } });
  expect(api.last()).toMatchObject({
    url: '/pets/7',
    headers: { authorization: 'Bearer pets-token-123456' },
  });
  expect(JSON.stringify([result, tools, crib.rows(), crib.logged])).not.toContain('pets-token-123456');
  expect(crib.rowsOf('getPet')).not.toEqual([]);
});

test('an OpenAPI file needs no options, several can be listed, and operations that are left out are logged', async () => {
  const prefixed = { file: './small.json', prefix: 'small_' };
  const crib = await openCrib({
    files,
    config: { tools: { ready: {}, openapi: ['./api/petstore.yaml', prefixed] } },
  });
  const { tools } = await (await crib.connect('ada')).list();
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['listPets', 'getPet', 'small_getPet']),
  );
  expect(crib.logged).toContainEqual(
    expect.objectContaining({
      level: 'warn',
      message:
        './api/petstore.yaml: POST /photos is left out: it takes multipart/form-data, and only JSON, text and plain bytes are sent.',
    }),
  );
});

const mistakes: [unknown, RegExp][] = [
  ['./nowhere.yaml', /tools\.openapi cannot be used: There is no such file; check the path\./],
  [
    ['./small.json', './api/petstore.yaml'],
    /yaml:\d+:\d+: tools\.openapi\[1\] offers a tool named "getPet", and so does tools\.openapi\[0\]; set "prefix" here\./,
  ],
  [{ file: './small.json', operations: ['getPat'] }, /No operation fits "getPat"/],
  [{ file: './small.json', server: 'http://10.0.0.1' }, /plain http.*set "trustServer: true"/],
  [
    { file: './small.json', credential: { baerer: 'x' } },
    /tools\.openapi\.credential\.baerer is not a key here; did you mean "bearer"/,
  ],
  [{ file: './small.json', operation: ['x'] }, /did you mean "operations"/],
  [{ file: './small.json', credential: {} }, /tools\.openapi\.credential must be one of bearer, header/],
  ['./toolcrib.yaml', /no OpenAPI 3 description/],
];

test.each(mistakes)(
  'an invalid OpenAPI setting keeps the gateway from starting: %j',
  async (openapi, complaint) => {
    const opening = openCrib({ files, config: { tools: { ready: {}, openapi: openapi as string } } });
    await expect(opening).rejects.toThrow(complaint);
  },
);
