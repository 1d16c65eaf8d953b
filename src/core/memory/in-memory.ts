import { randomBytes } from 'node:crypto';
import { systemClock, type Clock } from '../../base/clock.ts';
import type {
  EventLog,
  Memory,
  SealingKeys,
  SessionRecord,
  SessionRecords,
  SpentStates,
  StreamEvent,
  TaskRecord,
  TaskRecords,
} from './memory.ts';
import { MAX_EVENTS_PER_STREAM, maxKept, shareLimits } from './limits.ts';
import { eventText, sessionText, taskText } from './text.ts';
import { parseJson } from '../../base/parse-json.ts';
import { Shares } from './shares.ts';
import { BoundedMap } from './bounded-map.ts';

const ONE = { rows: 1, bytes: 0 };
const MAX_SPENT = {
  caller: { rows: 10_000, bytes: Infinity },
  tenant: { rows: 40_000, bytes: Infinity },
  total: { rows: 100_000, bytes: Infinity },
};
const MAX_BYTES = 64 * 1_048_576;
const MAX_TASKS = 10_000;
const MAX_STREAMS = 10_000;
const MAX_SESSIONS = 10_000;

/** Remembers everything in this process; what it holds is bounded, the oldest going first. */
export function createInMemory(clock: Clock = systemClock): Memory {
  return {
    keys: createKeys(),
    spent: createSpent(clock),
    tasks: createTasks(clock),
    events: createEvents(),
    sessions: createSessions(),
  };
}

function createKeys(): SealingKeys {
  const key = { id: randomBytes(4).toString('hex'), bytes: randomBytes(32) };
  return { current: () => key, find: (id) => (id === key.id ? key : undefined) };
}

function createSpent(clock: Clock): SpentStates {
  const spent = new Map<string, { readonly until: number; readonly owner: string }>();
  const shares = new Shares(MAX_SPENT);
  return {
    spend(id, expiresAt, owner) {
      for (const [old, { until, owner: former }] of spent) {
        if (until > clock.now()) break;
        spent.delete(old);
        shares.add(former, { rows: -1, bytes: 0 });
      }
      // Full of states that are still good: to forget one would let it be used again.
      if (spent.has(id) || shares.over(owner, ONE)) return false;
      spent.set(id, { until: expiresAt, owner });
      shares.add(owner, ONE);
      return true;
    },
  };
}

function createTasks(clock: Clock): TaskRecords {
  const total = { rows: MAX_TASKS, bytes: MAX_BYTES };
  const tasks = new BoundedMap<TaskRecord>({ ...shareLimits.tasks, total });
  return {
    put(record) {
      const { text, bytes } = taskText(record);
      // Read now, not when it is asked for: how long that takes would tell strangers that the task exists.
      tasks.set(record.id, parseJson(text) as TaskRecord, { owner: record.owner, bytes });
    },
    get(id) {
      const record = tasks.get(id);
      // The same work for a task that is not there: how long it takes must not tell.
      const endsAt = record ? record.createdAt + record.ttlMs : 0;
      if (endsAt > clock.now()) return record;
      if (record) tasks.delete(id);
      return undefined;
    },
  };
}

interface KeptStream {
  readonly events: { readonly event: StreamEvent; readonly bytes: number }[];
  bytes: number;
}

function createEvents(): EventLog {
  const total = { rows: MAX_STREAMS, bytes: MAX_BYTES };
  const streams = new BoundedMap<KeptStream>({ ...shareLimits.events, total });
  return {
    keep(stream, event, owner) {
      const { bytes } = eventText(event);
      const kept = streams.get(stream) ?? { events: [], bytes: 0 };
      const { events } = kept;
      events.push({ event, bytes });
      kept.bytes += bytes;
      while (events.length > MAX_EVENTS_PER_STREAM || (kept.bytes > maxKept.stream && events.length > 1))
        kept.bytes -= events.shift()!.bytes;
      streams.set(stream, kept, { owner, bytes: kept.bytes });
    },
    after(stream, eventId) {
      const events = streams.get(stream)?.events.map(({ event }) => event) ?? [];
      const index = events.findIndex((event) => event.id === eventId);
      return index < 0 ? undefined : events.slice(index + 1);
    },
    forget: (stream) => void streams.delete(stream),
  };
}

function createSessions(): SessionRecords {
  const total = { rows: MAX_SESSIONS, bytes: MAX_BYTES };
  const sessions = new BoundedMap<SessionRecord>({ ...shareLimits.sessions, total });
  return {
    put: (record) =>
      sessions.set(record.id, record, { owner: record.owner, bytes: sessionText(record).bytes }),
    get: (id) => sessions.get(id),
    delete: (id) => void sessions.delete(id),
  };
}
