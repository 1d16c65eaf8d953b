import type { Clock } from '../base/clock.ts';
import type { ToolSource } from '../core/source.ts';
import type { Log } from '../observe/log.ts';
import type { Implementation, JsonText } from '../protocol/revisions/revision.ts';
import type { Announcer } from './sessions/announcer.ts';
import type { Publications } from './calls/publications.ts';
import type { KeepAlive } from './sessions/keep-alive.ts';
import type { ParkedCalls } from './calls/parked-calls.ts';
import type { Seal } from './calls/seal.ts';
import type { CallerLimit } from './caller-limit.ts';
import type { Sessions } from './sessions/sessions.ts';
import type { Tasks } from './calls/tasks.ts';

/** The parts of a server. */
export interface ServerParts {
  readonly source: ToolSource;
  readonly info: Implementation;
  readonly instructions: string | undefined;
  readonly jsonText: JsonText;
  /** Who gets the error for arguments that break the schema. */
  readonly invalidArguments: 'result' | 'protocol';
  readonly pageSize: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly seal: Seal;
  readonly sessions: Sessions;
  readonly tasks: Tasks;
  /** The calls that wait for a further request of their client. */
  readonly parked: ParkedCalls;
  readonly announcer: Announcer;
  readonly keepAlive: KeepAlive;
  /** The questions that wait for their answers. */
  readonly waiting: CallerLimit;
  /** Absent unless the server publishes. */
  readonly publications: Publications | undefined;
  /** Whether results of session requests come on the session's own stream instead of with the request. */
  readonly delivery: 'direct' | 'queued';
}
