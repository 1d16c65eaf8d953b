import { expect, test } from 'vitest';
import { createStoreFolder } from '../../../test/store-folder.ts';
import type { TaskRecord } from '../../core/memory/memory.ts';

const uncopied: Readonly<Record<string, () => unknown>> = {
  'a number without end': () => 1n,
  'a value that holds itself': () => {
    const value: Record<string, unknown> = {};
    value['itself'] = value;
    return value;
  },
  'a member that throws when it is read': () => ({
    get x(): never {
      throw new Error('no');
    },
  }),
};

test.each(Object.entries(uncopied))(
  '%s, which cannot be sent to the worker thread, fails its own request only',
  async (_what, make) => {
    const { journal, memory } = await createStoreFolder().open();
    const put = async (id: string, asked: unknown): Promise<void> => memory.tasks.put(taskOf(id, asked));
    const answers = await Promise.allSettled([
      journal.append({ chain: 'acme', body: '{"n":1}' }),
      put('before', 1),
      put('bad', make()),
      put('after', 2),
      journal.append({ chain: 'acme', body: '{"n":2}' }),
    ]);
    expect(answers.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, true]);
    expect(journal.isReady).toBe(true);
    const kept = await Promise.all(['before', 'bad', 'after'].map(async (id) => memory.tasks.get(id)));
    expect(kept.map((task) => task?.inputRequests?.['asked'])).toEqual([1, undefined, 2]);
  },
);

function taskOf(id: string, asked: unknown): TaskRecord {
  const at = Date.now();
  return {
    id,
    owner: 'ada',
    status: 'input_required',
    createdAt: at,
    updatedAt: at,
    ttlMs: 60_000,
    inputRequests: { asked },
  };
}
