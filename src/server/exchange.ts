import type { Clock } from '../base/clock.ts';
import { ToolcribError, type ErrorCode } from '../base/errors.ts';
import { orElse, andThen, nothing, type Awaitable } from '../base/awaitable.ts';
import { endEach } from '../base/cancellation.ts';
import { SlotList } from '../base/slot-list.ts';
import { eraOf, type Era } from '../protocol/wire/era.ts';
import { headerValue } from '../protocol/wire/headers.ts';
import {
  encodeResult,
  parseMessage,
  type Batch,
  type Message,
  type NotificationMessage,
  type RequestMessage,
  type ResponseMessage,
} from '../protocol/wire/json-rpc.ts';
import { JsonScanner } from '../protocol/wire/json-scan.ts';
import { revisionOf } from '../protocol/revisions/revisions.ts';
import type { Accidents } from './accidents.ts';
import { refusalAnswer, type Answer } from './answer.ts';
import { flawOfBatch, repeatedId, repeatsId } from './batches.ts';
import { besideLink, hungUp, isUnattended, type Link } from './link.ts';
import { PostedMessages } from './posted-messages.ts';
import type { Method } from './calls/methods.ts';
import { isHandshake, isModern } from './message-kinds.ts';
import { noteRefusal, type RefusalOptions } from './refusals.ts';
import type { RequestRates } from './request-rates.ts';
import type { Session } from './sessions/session.ts';
import type { Sessions } from './sessions/sessions.ts';
import { keepSilent, Silence } from './silence.ts';
import { understand, versionHeader, type UnderstoodRequest } from './request.ts';
import { Turns } from '../base/turns.ts';

/** The parts of a server that an exchange needs. */
export interface ExchangeOptions extends RefusalOptions {
  readonly methods: ReadonlyMap<string, Method>;
  readonly sessions: Sessions;
  readonly rates: RequestRates;
  readonly delivery: 'direct' | 'queued';
  readonly accidents: Accidents;
  readonly clock: Clock;
  /** Numbers in the place of those in the error table. */
  readonly errorNumbers: Readonly<Partial<Record<ErrorCode, number>>>;
  /** Called for every session whose handshake is complete. */
  readonly onReady: (session: Session) => void;
}

const LARGE_BYTES = 65_536;
const ACCEPTED: Answer = { status: 202, body: undefined };
// A client that cancelled wants no more messages about the request.
const WITHDRAWN: Answer = { status: 202, body: undefined };
// A notification has no answer that could tell what failed; over HTTP its status does.
const FAILED: Answer = { status: 500, body: undefined };
const QUEUED: Answer = { status: 202, body: '{"status":"queued"}' };

/**
 * One message in, one answer out: the same function behind every transport. A request passes these steps in order:
 * `parseMessage` (bytes to message), `#answerMessage` (rate and session), `#route` and `#take` (its kind),
 * `#answerRequest` (`understand`: its revision and client), `#perform` (its method), `resultAnswer`. All exceptions end
 * in `#refuse`.
 */
export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #scanner = new JsonScanner();
  readonly #turns = new Turns();
  readonly #posted = new PostedMessages();
  /** Every request that is being answered. */
  readonly #underWay = new SlotList<Link>();
  readonly #silence: Silence;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#silence = new Silence(this.#underWay, options);
  }

  /** Answers a message, without a promise if it can. Never throws or rejects. The answer to a notification is empty. */
  answer(bytes: Uint8Array, link: Link): Awaitable<Answer> {
    link.size = bytes.length;
    if (this.#waitsForTurn(bytes, link)) return this.#answerInTurn(bytes, link);
    try {
      return this.#answerMessage(parseMessage(bytes, this.#scanner), link);
    } catch (error) {
      return this.#refuse(error, { message: UNREAD, link });
    }
  }

  /** Stops every request that is being answered. */
  stop(reason: Error): void {
    endEach(this.#underWay.all(), ({ cancellation }) => cancellation.abort(reason));
  }

  /** Stops those for whose answers no connection waits. */
  stopUnattended(reason: Error): void {
    const unattended = this.#underWay.all().filter(isUnattended);
    endEach(unattended, ({ cancellation }) => cancellation.abort(reason));
  }

  /** Whether there are any of those. */
  get hasUnattended(): boolean {
    return this.#underWay.all().some(isUnattended);
  }

  // Over standard input there is one client, which delays nobody else.
  #waitsForTurn({ length }: Uint8Array, { headers, handshakeOnly, session }: Link): boolean {
    if (handshakeOnly) return length > LARGE_BYTES || this.#posted.has(session);
    return length > LARGE_BYTES && headers !== undefined;
  }

  // Reading a large message takes about as long as answering it, so it has a turn of its own.
  // The bytes are let go of when they are read: the answer may take hours.
  #answerInTurn(bytes: Uint8Array, link: Link): Promise<Answer> {
    const leave = link.handshakeOnly ? this.#posted.add(link.session) : nothing;
    return this.#readInTurn(bytes, link)
      .finally(leave)
      .then((message) => this.#answerMessage(message, link))
      .catch((error: unknown) => this.#refuse(error, { message: UNREAD, link }));
  }

  async #readInTurn(bytes: Uint8Array, link: Link): Promise<Message | Batch> {
    await this.#turns.next(link.caller.tenant.id);
    // Not read: otherwise clients that send and disconnect could keep the server busy.
    if ((link.isGone && isModernHead(link)) || (link.handshakeOnly && link.session?.isOver)) {
      link.cancellation.withdraw(hungUp());
      throw link.cancellation.reason!;
    }
    const message = parseMessage(bytes, this.#scanner);
    await this.#turns.next(link.caller.tenant.id);
    return message;
  }

  #answerMessage(message: Message | Batch, link: Link): Awaitable<Answer> {
    const { rates, sessions } = this.#options;
    const tooMany = rates.refuseMessage(message, link);
    if (tooMany) return this.#refuse(tooMany, { message, link });
    const sessionId = link.headers && headerValue(link.headers, 'mcp-session-id');
    if (sessionId === undefined || isModern(message)) return this.#route(message, link);
    const opened = sessions.find(sessionId, link.caller).then((session) => {
      link.session = session;
    });
    return orElse(
      () => opened.then(() => this.#route(message, link)),
      (error) => this.#routeLost(message, link, error),
    );
  }

  // A client that lost its session starts over, often with the old id still in its headers.
  #routeLost(message: Message | Batch, link: Link, lost: unknown): Awaitable<Answer> {
    if (isHandshake(message)) return this.#route(message, link);
    try {
      return this.#refuse(this.#options.rates.refuse(link.caller) ?? lost, { message, link });
    } catch (error) {
      return this.#refuse(error, { message, link });
    }
  }

  // Each message of a batch comes here, so that an exception is the answer to that message alone.
  #route(message: Message | Batch, link: Link): Awaitable<Answer> {
    try {
      return this.#take(message, link);
    } catch (error) {
      return this.#refuse(error, { message, link });
    }
  }

  #take(message: Message | Batch, link: Link): Awaitable<Answer> {
    switch (message.kind) {
      case 'request':
        return this.#queues(message, link)
          ? this.#queue(message, link.session!, link)
          : this.#answerRequest(message, link);
      case 'notification':
        return this.#takeNotification(message, link);
      case 'response':
        return this.#takeResponse(message, link);
      case 'batch':
        return this.#answerBatch(message, link).catch((error: unknown) =>
          this.#refuse(error, { message, link }),
        );
      case 'invalid':
        return this.#refuse(message.error, { message, link });
    }
  }

  #answerRequest(message: RequestMessage, link: Link): Awaitable<Answer> {
    const place = this.#begin(message, link);
    let era: Era | undefined;
    return orElse(
      () => {
        era = eraOf(message, versionHeader(link));
        stopIfGone(link, era);
        return andThen(this.#perform(understand(message, link, era)), (result) => {
          this.#end(place, link);
          return resultAnswer(result, message, link);
        });
      },
      (error) => {
        this.#end(place, link);
        return this.#refuse(this.#options.rates.refuseUnbegun(message, link, error), { message, link, era });
      },
    );
  }

  #begin(message: RequestMessage, link: Link): number {
    link.idText = message.idText;
    this.#silence.watch();
    return this.#underWay.add(link);
  }

  #end(place: number, link: Link): void {
    link.answered = true;
    this.#underWay.remove(place, link);
  }

  #perform(request: UnderstoodRequest): Awaitable<string | Buffer> {
    const { message, revision, link } = request;
    const method = revision.methods.has(message.method)
      ? this.#options.methods.get(message.method)
      : undefined;
    if (!method)
      throw new ToolcribError(
        'unknown_method',
        `${revision.version} has no method "${message.method.slice(0, 80)}".`,
      );
    if (message.method === 'initialize') return this.#shakeHands(request).then(() => method(request));
    return link.session
      ? link.session.perform(message.id, link.cancellation, () => method(request))
      : method(request);
  }

  // Over HTTP a handshake opens a session; over stdio the process is one.
  async #shakeHands({ revision, client, link }: UnderstoodRequest): Promise<void> {
    // The head of its answer names the session, so no stream may begin before that is known.
    keepSilent(link);
    if (link.headers) link.session = await this.#options.sessions.open(link.caller, revision, client);
    else if (link.session) {
      link.session.revision = revision;
      link.session.client = client;
    }
  }

  #takeNotification(message: NotificationMessage, { session }: Link): Answer {
    if (message.method === 'notifications/cancelled') {
      session?.cancel(message.params?.['requestId'] as string | number);
    }
    if (message.method === 'notifications/initialized' && session?.revision && !session.ready) {
      this.#options.onReady(session);
      // Set last: if `onReady` fails, the client may send the notification again.
      session.ready = true;
    }
    return ACCEPTED;
  }

  async #answerBatch(batch: Batch, link: Link): Promise<Answer> {
    const { messages } = batch;
    const error = flawOfBatch(batch, link.session);
    if (error) return this.#refuse(error, { message: batch, link });
    const links = messages.map(() => ({
      ...besideLink(link, (text) => link.notify(text)),
      get isGone() {
        return link.isGone;
      },
      breakSilence: () => link.breakSilence?.(),
    }));
    link.cancellation.watch({
      onStop: (reason) => endEach(links, ({ cancellation }) => cancellation.abort(reason)),
    });
    const answers = await Promise.all(
      messages.map(async (message, index) => {
        // Each message may be short, and the batch long.
        if (index > 0) await this.#turns.next(link.caller.tenant.id);
        return repeatsId(messages, index)
          ? this.#refuse(repeatedId(), { message, link })
          : this.#route(message, links[index]!);
      }),
    );
    const bodies: string[] = [];
    for (const [index, answer] of answers.entries()) {
      if (answer !== QUEUED)
        this.#options.accidents.deliver(answer.body, links[index]!.idText, (text) => bodies.push(text));
    }
    if (bodies.length > 0) return { status: 200, body: `[${bodies.join(',')}]` };
    return answers.includes(QUEUED) ? QUEUED : ACCEPTED;
  }

  #queues(message: RequestMessage, { session, headers }: Link): boolean {
    return (
      this.#options.delivery === 'queued' &&
      session !== undefined &&
      // Its stream has ended, so what comes now can only be answered at once.
      !session.isOver &&
      headers !== undefined &&
      !isModern(message) &&
      !isHandshake(message)
    );
  }

  #queue(message: RequestMessage, session: Session, link: Link): Answer {
    const say = (text: string): void => session.serverStream.send(text);
    const background = { ...besideLink(link, say), isQueued: true };
    session.expectAnswer();
    void andThen(this.#answerRequest(message, background), ({ body }) => {
      this.#options.accidents.deliver(body, message.idText, say);
      session.noteAnswered();
    });
    return QUEUED;
  }

  #takeResponse(message: ResponseMessage, link: Link): Answer {
    if (link.session) {
      link.session.take(message);
      return ACCEPTED;
    }
    const error = new ToolcribError('invalid_request', 'Nothing was asked, so there is nothing to answer.');
    return this.#refuse(error, { message, link });
  }

  // Never throws: every exception ends here.
  #refuse(error: unknown, { message, link, era }: Refusing): Answer {
    const known = this.#options.accidents.known(error);
    if (known.code === 'cancelled' && link.cancellation.isWithdrawn) return WITHDRAWN;
    const isStopped = known.code === 'cancelled' && link.cancellation.reason !== undefined;
    if (!isStopped) noteRefusal(this.#options, known, { caller: link.caller, message });
    if (message.kind === 'notification' && known.code === 'internal') return FAILED;
    const idText = 'idText' in message ? message.idText : undefined;
    return refusalAnswer(idText, known, { era, number: this.#options.errorNumbers[known.code] });
  }
}

// Stands for a message that could not be read, in the error that answers it.
const UNREAD = { kind: 'unread' } as const;

interface Refusing {
  readonly message: Message | Batch | typeof UNREAD;
  readonly link: Link;
  readonly era?: Era | undefined;
}

// A modern client that hangs up has cancelled; the others may come back for the answer.
function stopIfGone(link: Link, era: Era): void {
  link.hangUpCancels = era === 'modern';
  if (link.isGone && link.hangUpCancels) link.cancellation.withdraw(hungUp());
  if (link.cancellation.reason) throw link.cancellation.reason;
}

function resultAnswer(result: string | Buffer, { idText, method }: RequestMessage, link: Link): Answer {
  const body =
    typeof result === 'string'
      ? encodeResult(idText, result)
      : [`{"jsonrpc":"2.0","id":${idText},"result":`, result, '}'];
  return method === 'initialize' ? introduced(body, link) : { status: 200, body };
}

function introduced(body: Answer['body'], { session, headers }: Link): Answer {
  if (!session || !headers) return { status: 200, body };
  return { status: 200, body, headers: { 'mcp-session-id': session.id } };
}

function isModernHead(link: Link): boolean {
  return revisionOf(versionHeader(link) ?? '')?.era === 'modern';
}
