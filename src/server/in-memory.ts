import { randomBytes } from 'node:crypto';
import { systemClock, type Clock } from '../core/clock.ts';
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
} from '../core/memory.ts';
import { Shelf } from './shelf.ts';

const MAX_SPENT = 100_000;
const MAX_TASKS = 10_000;
const MAX_TASKS_PER_OWNER = 1_000;
const MAX_STREAMS = 10_000;
const MAX_EVENTS_PER_STREAM = 1_000;
const MAX_CHARACTERS_PER_STREAM = 1_048_576;
const MAX_CHARACTERS = 64 * 1_048_576;

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
  const spent = new Map<string, number>();
  return {
    spend(id, expiresAt) {
      for (const [old, until] of spent) {
        if (until > clock.now()) break;
        spent.delete(old);
      }
      // Full of states that are still good: to forget one would let it be used again.
      if (spent.has(id) || spent.size >= MAX_SPENT) return false;
      spent.set(id, expiresAt);
      return true;
    },
  };
}

function createTasks(clock: Clock): TaskRecords {
  const tasks = new Shelf<TaskRecord>({ total: MAX_TASKS, perOwner: MAX_TASKS_PER_OWNER });
  return {
    put: (record) => tasks.set(record.id, record.owner, record),
    get(id) {
      const record = tasks.get(id);
      if (record && record.createdAt + record.ttlMs > clock.now()) return record;
      tasks.delete(id);
      return undefined;
    },
  };
}

function createEvents(): EventLog {
  const streams = new Map<string, { events: StreamEvent[]; size: number }>();
  let total = 0;
  const forget = (stream: string): void => {
    total -= streams.get(stream)?.size ?? 0;
    streams.delete(stream);
  };
  return {
    keep(stream, event) {
      let kept = streams.get(stream);
      if (!kept) {
        streams.set(stream, (kept = { events: [], size: 0 }));
        if (streams.size > MAX_STREAMS) forget(streams.keys().next().value!);
      }
      kept.events.push(event);
      kept.size += event.text.length;
      total += event.text.length;
      while (
        kept.events.length > MAX_EVENTS_PER_STREAM ||
        (kept.size > MAX_CHARACTERS_PER_STREAM && kept.events.length > 1)
      ) {
        const dropped = kept.events.shift()!.text.length;
        kept.size -= dropped;
        total -= dropped;
      }
      for (const oldest of streams.keys()) {
        if (total <= MAX_CHARACTERS || oldest === stream) break;
        forget(oldest);
      }
    },
    after(stream, eventId) {
      const events = streams.get(stream)?.events ?? [];
      const index = events.findIndex((event) => event.id === eventId);
      return index < 0 ? undefined : events.slice(index + 1);
    },
    forget,
  };
}

function createSessions(): SessionRecords {
  const sessions = new Map<string, SessionRecord>();
  return {
    put: (record) => void sessions.set(record.id, record),
    get: (id) => sessions.get(id),
    delete: (id) => void sessions.delete(id),
  };
}
