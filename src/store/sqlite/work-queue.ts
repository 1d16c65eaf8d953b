import type { ToolcribError } from '../../base/errors.ts';
import type { Entry } from '../store.ts';
import type { Operation } from './worker-messages.ts';

const MIB = 1_048_576;
// The most that goes into one transaction: little enough for any disk to finish in time.
const MAX_PARCEL_BYTES = MIB;
// Rows wait until a parcel of bodies is written, so these are shorter; a body that is larger goes alone.
const MAX_BODY_PARCEL_BYTES = MIB / 16;
// Small work costs time too: a tenth of a millisecond per operation, far less per row.
const MIN_BYTES = { row: 512, operation: 4_096 };
const MAX_BODIES_BYTES_PER_SHARE = 16 * MIB;
const MAX_BODIES_BYTES = 128 * MIB;
const MAX_QUEUED = 20_000;

/** A caller that waits for a row or operation. */
export interface Waiting {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
  /** The intent of a call that runs only if the intent is written in time. */
  readonly intent?: Entry | undefined;
}

/** The work of one transaction, as it is sent to the thread, and those who wait for it. */
export interface Parcel {
  /** One line per row. */
  text: string;
  readonly rows: Waiting[];
  readonly work: Operation[];
  readonly operations: Waiting[];
  bytes: number;
}

/** The size of a body and the share it belongs to. */
export interface BodySize {
  /** Bodies of one share keep their order; shares take turns. */
  readonly share: string;
  readonly bytes: number;
}

interface QueuedBody {
  readonly operation: Operation;
  readonly waiting: Waiting;
  readonly bytes: number;
}

interface Share {
  readonly bodies: QueuedBody[];
  bytes: number;
}

/**
 * The queue for the thread: rows and small operations in order, and bodies apart, in small parcels between the others.
 */
export class WorkQueue {
  readonly #parcels: Parcel[] = [];
  #rows = 0;
  #operations = 0;
  // The first one is next.
  readonly #shares = new Map<string, Share>();
  #bodyBytes = 0;
  #bodies = 0;
  #isTurnOfBodies = false;

  get isEmpty(): boolean {
    return this.#parcels.length === 0 && this.#shares.size === 0;
  }

  get hasRoomForRow(): boolean {
    return this.#rows < MAX_QUEUED;
  }

  get hasRoomForOperation(): boolean {
    return this.#operations < MAX_QUEUED;
  }

  /** Whether a body may be queued: each share has room for at least one. */
  hasRoomFor({ share, bytes }: BodySize): boolean {
    const own = this.#shares.get(share)?.bytes ?? 0;
    if (own === 0) return this.#bodies < MAX_QUEUED;
    const isTooMuch = own + bytes > MAX_BODIES_BYTES_PER_SHARE || this.#bodyBytes + bytes > MAX_BODIES_BYTES;
    return !isTooMuch && this.#bodies < MAX_QUEUED;
  }

  addRow(line: string, waiting: Waiting): void {
    const parcel = this.#open(Math.max(line.length, MIN_BYTES.row));
    parcel.text = parcel.text === '' ? line : `${parcel.text}\n${line}`;
    parcel.rows.push(waiting);
    this.#rows++;
  }

  addOperation(operation: Operation, waiting: Waiting, bytes: number): void {
    const parcel = this.#open(Math.max(bytes, MIN_BYTES.operation) + (operation.row?.body.length ?? 0));
    parcel.work.push(operation);
    parcel.operations.push(waiting);
    this.#operations++;
  }

  addBody(operation: Operation, waiting: Waiting, { share, bytes }: BodySize): void {
    let own = this.#shares.get(share);
    if (!own) this.#shares.set(share, (own = { bodies: [], bytes: 0 }));
    own.bodies.push({ operation, waiting, bytes });
    own.bytes += bytes;
    this.#bodyBytes += bytes;
    this.#bodies++;
  }

  /** The next parcel to send; an empty one if nothing is queued. */
  next(): Parcel {
    const isTurnOfBodies = this.#shares.size > 0 && (this.#isTurnOfBodies || this.#parcels.length === 0);
    this.#isTurnOfBodies = !isTurnOfBodies;
    if (isTurnOfBodies) return this.#nextBodies();
    const parcel = this.#parcels.shift() ?? newParcel();
    this.#rows -= parcel.rows.length;
    this.#operations -= parcel.operations.length;
    return parcel;
  }

  /** Refuses everything in the queue; returns how many rows that were. */
  refuse(refusal: ToolcribError): number {
    let rows = 0;
    while (!this.isEmpty) {
      const parcel = this.next();
      rows += parcel.rows.length + parcel.work.filter(({ row }) => row).length;
      refuseParcel(parcel, refusal);
    }
    return rows;
  }

  #open(bytes: number): Parcel {
    let last = this.#parcels.at(-1);
    if (!last || last.bytes + bytes > MAX_PARCEL_BYTES) this.#parcels.push((last = newParcel()));
    last.bytes += bytes;
    return last;
  }

  // One body of each share in turn, until the parcel is full.
  #nextBodies(): Parcel {
    const parcel = newParcel();
    for (const [name, share] of this.#shares) {
      const { operation, waiting, bytes } = share.bodies[0]!;
      const cost = Math.max(bytes, MIN_BYTES.operation);
      if (parcel.bytes > 0 && parcel.bytes + cost > MAX_BODY_PARCEL_BYTES) break;
      share.bodies.shift();
      share.bytes -= bytes;
      this.#bodyBytes -= bytes;
      this.#bodies--;
      parcel.work.push(operation);
      parcel.operations.push(waiting);
      parcel.bytes += cost;
      // Moves the share to the end, where it is visited again while there is room.
      this.#shares.delete(name);
      if (share.bodies.length > 0) this.#shares.set(name, share);
    }
    return parcel;
  }
}

/** Refuses all who wait for a parcel; rejecting a settled promise does nothing, so this may run twice. */
export function refuseParcel({ rows, operations }: Parcel, refusal: ToolcribError): void {
  for (const { reject } of rows) reject(refusal);
  for (const { reject } of operations) reject(refusal);
}

function newParcel(): Parcel {
  return { text: '', rows: [], work: [], operations: [], bytes: 0 };
}
