import { Client, readAll } from '../client.ts';
import { Crib } from '../crib.ts';
import { against, pause, type Outcome, type RunOptions, type Scenario } from '../scenario.ts';

/** A key that is revoked elsewhere stops working here. */
export const revocation: Scenario = {
  id: 'R18',
  title: 'a key revoked by another process is refused, and its open stream ended, within five seconds',
  run: (options) => revoke(options, 0),
  // Another key is revoked than the one that is watched.
  control: (options) => revoke(options, 1),
};

const LIMIT_MS = 5_000;

async function revoke({ report }: RunOptions, which: 0 | 1): Promise<Outcome> {
  const crib = new Crib({ auth: { keys: {} }, access: [{ roles: ['tester'], tools: ['*'] }] });
  try {
    const keys = await crib.admit([
      { tenant: 'acme', caller: 'ada' },
      { tenant: 'acme', caller: 'bob' },
    ]);
    const serving = await crib.start();
    const client = new Client({ port: serving.port, key: keys[0]!.key });
    const bystander = new Client({ port: serving.port, key: keys[1]!.key });
    const failures: string[] = [];
    if (!(await client.call('echo', { nonce: 'a' })).isDone)
      failures.push('the key did not work to begin with');
    const stream = { endedAt: Infinity };
    const over = (): void => {
      stream.endedAt = performance.now();
    };
    void readAll(await client.listen()).then(over, over);
    const { code, complaints } = await crib.command('keys', 'revoke', keys[which]!.id);
    const revokedAt = performance.now();
    if (code !== 0) failures.push(`the key could not be revoked: ${complaints}`);
    let refusedAt = Infinity;
    while (
      performance.now() - revokedAt < LIMIT_MS &&
      (refusedAt === Infinity || stream.endedAt === Infinity)
    ) {
      if (refusedAt === Infinity && (await client.call('echo', { nonce: 'b' })).status === 401)
        refusedAt = performance.now();
      await pause(20);
    }
    const refusedMs = Math.round(refusedAt - revokedAt);
    const endedMs = Math.round(stream.endedAt - revokedAt);
    report(`refused after ${refusedMs} ms, stream ended after ${endedMs} ms`);
    if (refusedAt === Infinity) failures.push('the key still works after five seconds');
    if (stream.endedAt === Infinity) failures.push('the stream is still open after five seconds');
    if (which === 0 && !(await bystander.call('echo', { nonce: 'c' })).isDone)
      failures.push('another key stopped working');
    client.close();
    bystander.close();
    return {
      counts: `refused after ${against(refusedMs, LIMIT_MS)}, stream ended after ${against(endedMs, LIMIT_MS)}`,
      failures,
    };
  } finally {
    await crib.close();
  }
}
