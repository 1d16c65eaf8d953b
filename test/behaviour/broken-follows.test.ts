import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { defineResource, defineTool, ToolRegistry, type ToolSource } from '../../src/index.ts';
import { openLimits } from '../../src/server/caller-limit.ts';
import { sourceTest } from '../source-test.ts';
import { deferred } from './deferred.ts';
import { describeDoors, EventReader, openSession, sendModern, type Door } from './session-client.ts';

const uri = 'note://one';
const fault = new Error('Broken on purpose.');
const fail = (): never => {
  throw fault;
};

/** A source whose resource can be followed as it is told here, and a tool that works until it is stopped. */
function sourceThat(change: Partial<ToolSource>) {
  const started = deferred();
  const work = defineTool({ name: 'work', description: 'Works.' }, async (_args, { signal }) => {
    started.resolve();
    await once(signal, 'abort');
  });
  const registry = new ToolRegistry()
    .registerTool(work)
    .registerResource(defineResource({ uri, name: 'one' }, () => 'one'));
  const source: ToolSource = {
    list: () => registry.list(),
    find: (name) => registry.find(name),
    call: (call) => registry.call(call),
    resources: registry.resources,
    watch: (listener) => registry.watch(listener),
    ...change,
  };
  return { source, started: started.promise };
}

const listen = (door: Door): Promise<Response> =>
  sendModern(door, ['subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } }]);

describeDoors((open) => {
  sourceTest(
    'A8 a source that cannot stop following a resource leaves room for new subscriptions',
    async () => {
      const { perCaller } = openLimits;
      onTestFinished(() => void (openLimits.perCaller = perCaller));
      openLimits.perCaller = 2;
      const causes: unknown[] = [];
      const log = (_level: string, _message: string, facts?: { cause?: unknown }) =>
        void causes.push(facts?.cause);
      const { source } = sourceThat({ follow: () => fail });
      const door = await open({ source, log });
      for (let count = 0; count < 4; count++) {
        const reader = new EventReader(await listen(door));
        await reader.message();
        await reader.hangUp();
        await expect.poll(() => causes).toEqual(Array.from({ length: count + 1 }, () => fault));
      }
    },
  );

  for (const [what, change] of [
    ['follow a resource', { follow: fail }],
    ['be watched', { watch: fail }],
  ] satisfies [string, Partial<ToolSource>][])
    sourceTest(`A8 a source that cannot ${what} leaves room for further subscriptions`, async () => {
      const { perCaller } = openLimits;
      onTestFinished(() => void (openLimits.perCaller = perCaller));
      openLimits.perCaller = 2;
      const door = await open(sourceThat(change));
      for (let count = 0; count < 4; count++)
        expect(await (await listen(door)).json()).toMatchObject({ error: { code: -32603 } });
    });

  test('a source that cannot stop following a resource does not keep calls of an ended session going', async () => {
    const { source, started } = sourceThat({ follow: () => fail });
    const door = await open({ source });
    const session = await openSession(door);
    expect(await session.answer('resources/subscribe', { uri })).toMatchObject({ result: {} });
    const working = session.answer('tools/call', { name: 'work' });
    await started;
    expect((await session.end()).status).toBe(204);
    expect(await working).toMatchObject({ error: { message: expect.stringContaining('ended') as string } });
    expect((await session.end()).status).toBe(404);
  });
});
