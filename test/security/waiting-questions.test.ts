import { expect, onTestFinished, test } from 'vitest';
import { defineTool } from '../../src/index.ts';
import type { Answer } from '../behaviour/peer.ts';
import { questionLimits } from '../../src/server/caller-limit.ts';
import { describeDoors, EventReader, openSession, type SessionClient } from '../behaviour/session-client.ts';

const ask = defineTool(
  { name: 'ask', description: 'Asks.', input: { additionalProperties: true } },
  async (_args, { elicit }) => (await elicit({ message: 'Sure?', schema: { properties: {} } })).action,
);

/** A call that waits for an answer, or what came instead. */
async function begin(session: SessionClient, id: number, args = {}): Promise<unknown> {
  const response = await session.call('ask', args, id);
  if (response.headers.get('content-type') === 'application/json')
    return ((await response.json()) as Answer).result;
  const { message } = await new EventReader(response).message();
  return message['method'];
}

const refused = {
  isError: true,
  content: [{ text: expect.stringContaining('questions may be open for one caller') as string }],
};

describeDoors((open) => {
  test('A8 the number of open questions of a caller is limited, and is lower when its messages are large', async () => {
    const { perCaller } = questionLimits;
    onTestFinished(() => void (questionLimits.perCaller = perCaller));
    questionLimits.perCaller = 2;
    const door = await open({ tools: [ask] });
    const capabilities = { elicitation: {} };
    const session = await openSession(door, { capabilities });
    const other = await openSession(door, { capabilities });
    expect(await begin(session, 1)).toBe('elicitation/create');
    expect(await begin(other, 1)).toBe('elicitation/create');
    expect(await begin(session, 2)).toMatchObject(refused);
    const others = await openSession(door, { capabilities, as: 'bob' });
    expect(await begin(others, 1)).toBe('elicitation/create');

    await session.notify('notifications/cancelled', { requestId: 1 });
    await expect.poll(() => begin(session, 3)).toBe('elicitation/create');
    await session.end();
    await other.end();
    const last = await openSession(door, { capabilities });
    const large = 'x'.repeat(2 * questionLimits.bytesPerQuestion);
    expect(await begin(last, 1, { large })).toMatchObject(refused);
    expect(await begin(last, 2, { small: 'x' })).toBe('elicitation/create');
    for (const one of [others, last]) await one.end();
  });
});
