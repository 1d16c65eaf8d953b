import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { audience, startIssuer } from '../security/issuer.ts';
import { runNode, cli } from './child.ts';
import { deployment } from './cli-deployment.ts';

const CONFIG = `
store: { url: "sqlite:./toolcrib.db", secrets: ./toolcrib.secrets }
server: { publicUrl: "https://tools.example" }
tools: { ready: { ping: {}, server_info: {}, get_time: {} } }
auth: { keys: {} }
access:
  - { roles: [staff], tools: [ping, get_time] }
  - { tools: [server_info] }
`;

async function open(config = CONFIG) {
  const made = deployment(config);
  await made.run('tenants', 'create', 'acme');
  const create = async (...flags: string[]): Promise<{ key: string; id: string }> =>
    (await made.json('keys', 'create', '--tenant', 'acme', '--caller', 'ada', ...flags)) as never;
  return { ...made, create };
}

describe('toolcrib whoami', () => {
  test('shows whose key it is and what it may use, and does not count as a use of the key', async () => {
    const { run, json, create } = await open();
    const { key, id } = await create('--role', 'staff', '--scope', 'metrics');
    expect(await run('whoami', '--key', key)).toEqual({
      code: 0,
      complaints: '',
      output: `This is ada of acme (${id}).
  roles      staff
  scopes     metrics
  tools      get_time, ping, server_info
  prompts    -
  resources  -
`,
    });
    expect(await json('whoami', '--key', (await create()).key)).toMatchObject({
      caller: 'ada',
      tenant: 'acme',
      roles: [],
      tools: ['server_info'],
    });
    expect(JSON.stringify(await json('keys', 'list'))).not.toContain('lastUsedAt');
  });

  test('says why a key is refused, and repeats no part of the key', async () => {
    const { run, create } = await open();
    const { key, id } = await create();
    await run('keys', 'revoke', id);
    const revoked = await run('whoami', '--key', key);
    expect(revoked).toMatchObject({
      code: 1,
      output: '',
      complaints: expect.stringContaining('was revoked at'),
    });
    const mistyped = await run('whoami', '--key', `${key.slice(0, -1)}_`);
    expect(mistyped.complaints).toContain('It is refused: key: it is mistyped or cut off');
    expect(revoked.complaints + mistyped.complaints).not.toContain(key.slice(0, 12));
    expect(JSON.parse((await run('whoami', '--key', key, '--json')).output)).toEqual({
      caller: null,
      reason: expect.stringContaining('was revoked'),
    });
  });

  test('checks a token with its issuer', async () => {
    const issuer = await startIssuer();
    const made = await open();
    const jwt = {
      issuer: issuer.url,
      audience,
      tenant: 'acme',
      rolesClaim: 'realm_access.roles',
      requiredScopes: ['tools'],
    };
    const config = CONFIG.replace('keys: {}', `keys: {}, jwt: ${JSON.stringify(jwt)}`);
    writeFileSync(join(made.folder, 'toolcrib.yaml'), config);
    const tell = async (claims: Record<string, unknown>) =>
      made.run('whoami', '--token', await issuer.token(claims));
    expect((await tell({ realm_access: { roles: ['staff'] } })).output).toContain(
      'This is ada of acme.\n  roles      staff\n  scopes     tools\n  tools      get_time, ping, server_info\n',
    );
    expect((await tell({ aud: 'x' })).complaints).toContain(`token: audience is "x", wanted "${audience}"`);
    expect((await tell({ scope: '' })).complaints).toContain('lacks a scope this server needs: tools.');
  });

  test('reads a credential from standard input, so that it is not in the shell history', async () => {
    const { folder, create } = await open();
    const { key } = await create();
    const child = runNode([cli, 'whoami', '--key', '-', '--config', join(folder, 'toolcrib.yaml')]);
    let output = '';
    child.process.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.process.stdin.end(`${key}\n`);
    expect(await child.exit).toMatchObject({ code: 0 });
    expect(output).toContain('This is ada of acme');
  });

  test('says what to change when it cannot check the credential', async () => {
    const { run, create } = await open();
    const { key } = await create();
    for (const [args, said] of [
      [[], 'whoami takes one credential'],
      [['--key', key, '--token', 'a.b.c'], 'whoami takes one credential'],
      [['--key', 'a.b.c'], 'use --token'],
      [['--token', key], 'use --key'],
      [['--token', 'a.b.c'], 'token: none is taken here'],
    ] as const)
      expect(await run('whoami', ...args)).toMatchObject({
        code: 1,
        complaints: expect.stringContaining(said),
      });
    const none = deployment('store: { url: "sqlite:./toolcrib.db" }\n');
    await none.run('tenants', 'create', 'acme');
    expect((await none.run('whoami', '--key', key)).complaints).toContain('has no auth');
  });
});
