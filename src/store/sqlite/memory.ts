import { tenantOf } from '../../core/caller.ts';
import { ToolcribError } from '../../base/errors.ts';
import { maxKept } from '../../core/memory/limits.ts';
import { endedTaskText, sessionText, taskText, type KeptText } from '../../core/memory/text.ts';
import type { EventLog, Memory, SessionRecord, TaskRecord, TaskRecords } from '../../core/memory/memory.ts';
import { parseJson } from '../../base/parse-json.ts';
import { ANY_BYTES, LARGE_BYTES, type WorkerRequests } from './worker-requests.ts';
import { GatheredEvents } from './gathered-events.ts';
import type { BodySize } from './work-queue.ts';
import { makeRoomIn } from '../../core/memory/bounded-map.ts';

// Every request of a session needs its record: it is cached, and read again when another process could have ended it.
const SESSION_FRESH_MS = 5_000;
const MAX_SESSIONS = 10_000;
const SESSION_MS = 24 * 3_600_000;
const SEALING_KEY_FRESH_MS = 3_600_000;

/** The protocol's memory, kept by the thread of a store. */
export function createMemory(requests: WorkerRequests): Memory {
  const { ask, askBody } = requests;
  const sessions = new Map<string, { record: SessionRecord; until: number }>();
  // The latest read of each session under way, unless the session ended since.
  const readings = new Map<string, object>();
  const remember = (record: SessionRecord): SessionRecord => {
    makeRoomIn(sessions, MAX_SESSIONS);
    sessions.set(record.id, { record, until: performance.now() + SESSION_FRESH_MS });
    return record;
  };
  return {
    keys: createSealingKeys(ask),
    spent: { spend: (id, expiresAt) => ask('spend', id, expiresAt) },
    tasks: createTasks(requests),
    events: createEvents(requests),
    sessions: {
      async put(record) {
        const { id, owner, createdAt } = record;
        const kept = sessionText(record);
        remember(record);
        const body = { share: tenantOf(owner), bytes: kept.bytes };
        await askBody(body, 'putSession', { id, owner, ...kept, expiresAt: createdAt + SESSION_MS });
      },
      async get(id) {
        const known = sessions.get(id);
        if (known && known.until > performance.now()) return known.record;
        sessions.delete(id);
        const reading = {};
        readings.set(id, reading);
        try {
          const text = await ask('getSession', id);
          const record = text === undefined ? undefined : (parseJson(text) as SessionRecord);
          return record && readings.get(id) === reading ? remember(record) : record;
        } finally {
          if (readings.get(id) === reading) readings.delete(id);
        }
      },
      async delete(id) {
        sessions.delete(id);
        readings.delete(id);
        await ask('deleteSession', id);
      },
    },
  };
}

function createTasks({ ask, askBody }: WorkerRequests): TaskRecords {
  const put = (record: TaskRecord, kept: KeptText): Promise<void> => {
    const { id, owner, createdAt, ttlMs, status } = record;
    const isOpen = status === 'working' || status === 'input_required';
    const body = { share: tenantOf(owner), bytes: kept.bytes };
    return askBody(body, 'putTask', { id, owner, ...kept, expiresAt: createdAt + ttlMs }, isOpen);
  };
  return {
    async put(record) {
      try {
        await put(record, taskText(record));
      } catch (error) {
        // Even if the queue is full, the end of a task must be stored.
        if (!isBusy(error) || record.inputRequests) throw error;
        await put(record, endedTaskText(record));
      }
    },
    async get(id) {
      let found = await ask('getTask', id, LARGE_BYTES);
      if (found && found.text === undefined)
        found = await askBody({ share: tenantOf(found.owner), bytes: found.bytes }, 'getTask', id, ANY_BYTES);
      return found && (parseJson(found.text!) as TaskRecord);
    },
  };
}

// Events have a queue of their own: a stream keeps its order, and no call waits until they are stored.
function createEvents({ askApart }: WorkerRequests): EventLog {
  const gathered = new GatheredEvents(askApart);
  const bodyOf = (owner: string, bytes: number): BodySize => ({ share: tenantOf(owner), bytes });
  return {
    keep: async (stream, event, owner) => gathered.keep(stream, event, owner),
    after(stream, eventId, owner) {
      gathered.flush(stream);
      return askApart(bodyOf(owner, maxKept.stream), 'eventsAfter', stream, eventId);
    },
    forget(stream, owner) {
      gathered.flush(stream);
      return askApart(bodyOf(owner, FORGET_BYTES), 'forgetEvents', stream);
    },
  };
}

// Estimated cost of deleting a stream.
const FORGET_BYTES = 65_536;

function isBusy(error: unknown): boolean {
  return error instanceof ToolcribError && error.code === 'busy';
}

function createSealingKeys(ask: WorkerRequests['ask']): Memory['keys'] {
  let current: { key: { id: string; bytes: Uint8Array }; until: number } | undefined;
  return {
    async current() {
      if (current && current.until > performance.now()) return current.key;
      const { id, bytes } = await ask('currentSealingKey');
      current = {
        key: { id, bytes: Buffer.from(bytes, 'base64url') },
        until: performance.now() + SEALING_KEY_FRESH_MS,
      };
      return current.key;
    },
    async find(id) {
      if (current?.key.id === id) return current.key;
      const bytes = await ask('findSealingKey', id);
      return bytes === undefined ? undefined : { id, bytes: Buffer.from(bytes, 'base64url') };
    },
  };
}
