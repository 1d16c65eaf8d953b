import { CompactSign, exportJWK, generateKeyPair } from 'jose';
import { describe, expect, test } from 'vitest';
import { createJwtSignIn } from '../../src/auth/jwt-sign-in.ts';
import { defineTool } from '../../src/index.ts';
import { ToolRegistry } from '../../src/core/registry.ts';
import { toolsFromOpenApi } from '../../src/tools.ts';
import { openCrib } from '../gateway.ts';
import { openApi } from '../openapi-api.ts';
import { MapIdentities } from './identities.ts';
import { audience, startIssuer } from './issuer.ts';
import { KeyClient } from './key-client.ts';
import { ask } from './keyed.ts';
import { product } from './target.ts';

// On Node 24 and 26 an object with such a key makes the engine take others for it, as long as it is there.
const held: unknown[] = [];

/** Holds an object that makes the engine misread a key of this text, given as it is written there. */
function spoil(text: string, key: string): void {
  const plain = JSON.parse(`"${key}"`) as string;
  const misread = JSON.stringify(key.slice(0, plain.length));
  held.push(JSON.parse(text.replace(`"${key}"`, misread)));
}

describe('a message', () => {
  const call = (args: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"danger","arguments":${args}}}`;

  test.each([
    ['{"x":1,"\\u0041":1}', '\\u0041', ['x', 'A']],
    ['{"x":1,"stra\\u00dfe":1}', 'stra\\u00dfe', ['x', 'straße']],
    ['{"x":1,"\\"":1}', '\\"', ['x', '"']],
    ['{"x":1,"\\\\b":1}', '\\\\b', ['x', '\\b']],
  ])('A4 with the arguments %s is read correctly, whatever was sent before', async (args, key, keys) => {
    const target = await product();
    spoil(args, key);
    const beginsAlike = JSON.stringify(key.slice(0, keys.at(-1)!.length));
    await ask(target, { body: call(args.replace(`"${key}"`, beginsAlike)) });
    expect((await ask(target, { body: call(args) })).status).toBe(200);
    expect(Object.keys(target.source.calls[1]!.arguments)).toEqual(keys);
  });
});

describe('the caller', () => {
  const TENANT = 'https:\\/\\/tools.example\\/tenant';

  test('B2 a claim whose name is written with JSON escapes, as PHP does, is found in every token', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const issuer = await startIssuer();
    issuer.publish([{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }]);
    const options = {
      audience,
      tenantClaim: TENANT.replaceAll('\\', ''),
      tenants: new MapIdentities('north'),
    };
    const signIn = createJwtSignIn({ issuer: issuer.url, ...options });
    const now = Math.floor(Date.now() / 1_000);
    const times = `"iat":${now},"exp":${now + 600}`;
    const text = `{"iss":"${issuer.url}","aud":"${audience}",${times},"sub":"ada","${TENANT}":"north"}`;
    spoil(text, TENANT);
    const token = await new CompactSign(Buffer.from(text))
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(privateKey);
    expect(await signIn.check(token)).toMatchObject({ id: 'ada', tenant: { id: 'north' } });
    signIn.close();
  });

  test('B2 a token is refused when the name of a time claim can be read in two ways', async () => {
    const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
    const issuer = await startIssuer();
    issuer.publish([{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }]);
    const signIn = createJwtSignIn({ issuer: issuer.url, audience, tenants: new MapIdentities('north') });
    const now = Math.floor(Date.now() / 1_000);
    const names = `"iss":"${issuer.url}","aud":"${audience}","sub":"ada","tenant":"north"`;
    const text = `{${names},"exp":${now + 600},"nb\\u0066":${now + 300}}`;
    spoil(text, 'nb\\u0066');
    const token = await new CompactSign(Buffer.from(text))
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(privateKey);
    expect(await signIn.check(token)).toBeUndefined();
    signIn.close();
  });

  test("B2 an issuer's keys are found when their field names are written with JSON escapes", async () => {
    const issuer = await startIssuer();
    const text = JSON.stringify({ keys: [issuer.publicKey] }).replace('"y"', '"\\u0079"');
    spoil(text, '\\u0079');
    issuer.answer = (_request, response) => void response.end(text);
    const signIn = createJwtSignIn({ issuer: issuer.url, audience, tenants: new MapIdentities('north') });
    expect(await signIn.check(await issuer.token())).toMatchObject({ id: 'ada' });
    signIn.close();
  });
});

describe('the result of a tool', () => {
  const asKept = '{"value":1,"\\\\b":2}';
  // Not written as an object, because then the engine would know these keys already.
  const value = Object.fromEntries([
    ['value', 1],
    ['\\b', 2],
  ]);

  test.each([
    ['kept in the cache', { annotations: { readOnlyHint: true }, cache: { seconds: 60 } }, {}],
    ['kept under an idempotency key', {}, { 'dev.toolcrib/idempotencyKey': 'k-1' }],
  ])('B10 a result that is %s keeps its keys', async (_how, definition, _meta) => {
    const tool = defineTool({ name: 'keys', description: 'Returns keys.', ...definition }, () => value);
    const crib = await openCrib({ offers: [tool], config: { stages: { cache: {} } } });
    const client = new KeyClient(crib, 'ada');
    spoil(asKept, '\\\\b');
    for (let round = 0; round < 2; round++) {
      const { body } = await client.ask('tools/call', { name: 'keys', arguments: {}, _meta });
      expect(body).toContain(`"structuredContent":${asKept}`);
    }
  });

  test('D4 the response of an API keeps its keys', async () => {
    const text = '{"x":1,"stra\\u00dfe":1}';
    spoil(text, 'stra\\u00dfe');
    const api = await openApi((response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(text);
    });
    const document = {
      openapi: '3.1.0',
      paths: { '/a': { get: { operationId: 'a', responses: {} } } },
    };
    const tools = toolsFromOpenApi(document, { server: api.url, trustServer: true });
    const result = await new ToolRegistry().registerTool(...tools).execute('a', {});
    expect(JSON.stringify(result)).toContain('{"x":1,"straße":1}');
  });
});
