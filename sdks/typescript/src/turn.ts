import { linkAbort, type LinkedAbort, raceAbort } from "./abort.js";
import { InterlinguaError, isTransient, ProtocolError } from "./errors.js";
import { EMPTY_TRANSCRIPT, fold, type TranscriptItem, type TranscriptState } from "./fold.js";
import { openEvents } from "./follow.js";
import type {
  ErrorEvent,
  FileToSend,
  Permission,
  Question,
  Reply,
  TurnStatus,
  UniversalEvent,
  Usage,
} from "./generated/types.js";
import { newId } from "./ids.js";
import { retryDelay, RetryDeadline } from "./retry.js";
import type { Session } from "./session.js";
import { inspectEvents, LogPosition, parseEvent, reconnecting } from "./stream.js";
import { segment, type Transport } from "./transport.js";

/** Number of events after which the state of a turn is updated, even without a reader. */
const MAX_BATCH_EVENTS = 1024;

/** How often a message may be absent from the queue without an event of its turn: it may just have begun. */
const MAX_ABSENCES = 3;

/** What a handler of a request can use. */
export interface RequestContext {
  readonly session: Session;
  /** Aborted when another client answers first, the turn ends, or the caller's signal is aborted. */
  readonly signal: AbortSignal;
}

/** TypeScript widens what an async function returns to `string`, so every string is accepted, and unknown ones reject. */
export type AsyncReply = Reply | (string & {});

/** How to send a message. */
export interface SendOptions {
  /** Files that are attached to the message. */
  attachments?: FileToSend[] | undefined;
  /**
   * Id of the message, unique in the session; generated if absent. Sending the same id again does not send the message
   * again, but attaches to its turn: after a crash of this process, too.
   */
  id?: string | undefined;
  /** Whether events have their native payload in `raw`. */
  raw?: boolean | undefined;
  /** Stops reading the turn. The agent goes on: `session.interrupt()` stops it. */
  signal?: AbortSignal | undefined;
  /**
   * Decides on a permission request: `"once"`, `"always"` or `"reject"`. If it throws, or returns anything else, the
   * permission is rejected. Without this function nothing is answered, so that another client can.
   */
  onPermission?: ((request: Permission, context: RequestContext) => Reply | Promise<AsyncReply>) | undefined;
  /** Answers a question: with a choice, several choices, a text, or `null` to reject it. If it throws, it is rejected. */
  onQuestion?:
    | ((
        request: Question,
        context: RequestContext,
      ) => string | readonly string[] | null | Promise<string | readonly string[] | null>)
    | undefined;
}

/** How a turn ended. */
export interface TurnResult {
  readonly turnId: string;
  readonly status: TurnStatus;
  /** The agent's last message. */
  readonly text: string;
  /** Tokens and cost; null if the agent does not report them. */
  readonly usage: Usage | null;
  /** All items of the turn, in order. */
  readonly items: readonly TranscriptItem[];
  /** The last error of the turn; null if there was none. */
  readonly error: ErrorEvent | null;
  readonly durationMs: number | null;
}

/** One consumer of the turn's events. */
interface Consumer {
  readonly queue: UniversalEvent[];
  /** Set while the consumer waits for the next event. */
  wake: (() => void) | undefined;
}

/**
 * The work of an agent on one message. Events are read as fast as they are consumed; a consumer that stops leaves them in
 * the server's log. A turn whose session ends before it begins is an error; one that fails is not: see `status`.
 */
export class Turn implements AsyncIterable<UniversalEvent>, PromiseLike<TurnResult> {
  /** Id of the message. */
  readonly messageId: string;
  readonly session: Session;
  readonly #transport: Transport;
  readonly #options: SendOptions;
  readonly #message: string;
  readonly #position: LogPosition;
  readonly #consumers = new Set<Consumer>();
  readonly #handlers = new Map<string, LinkedAbort>();
  #state: TranscriptState = EMPTY_TRANSCRIPT;
  #batch: UniversalEvent[] = [];
  #turnId: string | undefined;
  /** Sequences of the first and of the last event that consumers were given. */
  #firstSequence: number | undefined;
  #lastSequence = 0;
  #ended = false;
  #failure: { error: unknown } | undefined;
  /** Whether events are read without a consumer: for the result, or for handlers of requests. */
  #drain: boolean;
  #result: Promise<TurnResult> | undefined;
  #finished: { resolve: () => void; reject: (error: unknown) => void } | undefined;
  /** Wakes the pump when there is demand. */
  #demand: (() => void) | undefined;
  #connection: LinkedAbort | undefined;
  /** How often the message was sent, and how often it was not in the queue when it was sent again. */
  #attempts = 0;
  #absences = 0;

  /** Settles when the message is in the queue, or never will be. @internal */
  readonly queued: Promise<void>;
  readonly #previous: Promise<void>;
  #markQueued!: () => void;

  /** @internal */
  constructor(
    transport: Transport,
    session: Session,
    message: string,
    options: SendOptions,
    previous: Promise<void> = Promise.resolve(),
  ) {
    this.#previous = previous;
    this.queued = new Promise((resolve) => (this.#markQueued = resolve));
    this.#transport = transport;
    this.session = session;
    this.#message = message;
    this.#options = options;
    this.messageId = options.id ?? newId("msg_");
    this.#position = new LogPosition(session.id, undefined);
    this.#drain = options.onPermission !== undefined || options.onQuestion !== undefined;
    void this.#pump();
  }

  /** What is known of the turn so far. */
  get state(): TranscriptState {
    if (this.#batch.length > 0) {
      this.#state = inspectEvents(() => fold(this.#batch, this.#state));
      this.#batch = [];
    }
    return this.#state;
  }

  then<A = TurnResult, B = never>(
    resolve?: ((result: TurnResult) => A | PromiseLike<A>) | null,
    reject?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#result ??= this.#awaitResult();
    return this.#result.then(resolve, reject);
  }

  catch<B = never>(reject?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<TurnResult | B> {
    return this.then(undefined, reject);
  }

  finally(settled?: (() => void) | null): Promise<TurnResult> {
    return this.then().finally(settled);
  }

  /** The events of the turn, from `turn.started` to `turn.ended`. Each loop sees all of them. */
  async *[Symbol.asyncIterator](): AsyncGenerator<UniversalEvent, void, void> {
    const consumer: Consumer = { queue: [], wake: undefined };
    this.#consumers.add(consumer);
    try {
      // What was read before this loop began is in the log.
      if (this.#firstSequence !== undefined) {
        yield* this.#replay(this.#firstSequence - 1, this.#lastSequence);
      }
      for (;;) {
        const event = consumer.queue.shift();
        if (event !== undefined) {
          yield event;
        } else if (this.#failure !== undefined) {
          throw this.#failure.error;
        } else if (this.#ended) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            consumer.wake = resolve;
            this.#demand?.();
          });
        }
      }
    } finally {
      this.#consumers.delete(consumer);
      // No readers are left: close the connection. The next reader reopens it where it stopped.
      if (!this.#hasReaders()) this.#connection?.abort();
    }
  }

  async *#replay(after: number, last: number): AsyncGenerator<UniversalEvent, void, void> {
    const { raw, signal } = this.#options;
    for await (const page of this.session.history({ after, raw, signal })) {
      for (const event of page.events) {
        if (event.sequence > last) return;
        yield event;
      }
    }
  }

  async #awaitResult(): Promise<TurnResult> {
    this.#drain = true;
    if (!this.#ended && this.#failure === undefined) {
      await new Promise<void>((resolve, reject) => {
        this.#finished = { resolve, reject };
        this.#demand?.();
      });
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    const { items, turns, errors } = this.state;
    const turn = turns[0];
    const answer = items.findLast(
      ({ item }) => item.kind === "message" && item.role === "assistant" && item.parent_id === null && hasText(item.content),
    );
    return {
      turnId: this.#turnId ?? "",
      // A session that ends within a turn ends the turn first.
      status: turn === undefined || turn.status === "running" ? "failed" : turn.status,
      text: answer?.text ?? "",
      usage: turn?.usage ?? null,
      items,
      error: errors.at(-1)?.data ?? null,
      durationMs: turn?.durationMs ?? null,
    };
  }

  /** Reads the turn from the first to the last event, while there is demand. */
  async #pump(): Promise<void> {
    try {
      while (!this.#ended && this.#failure === undefined) {
        const connection = linkAbort(this.#options.signal);
        this.#connection = connection;
        try {
          for await (const event of this.#read(connection.signal)) {
            inspectEvents(() => this.#observe(event));
            if (this.#ended) break;
            await this.#waitForDemand(connection.signal);
          }
          if (!this.#ended) throw endedEarly(this.session.id, this.messageId);
        } catch (error) {
          this.#options.signal?.throwIfAborted();
          if (!connection.signal.aborted) throw error;
          // All consumers left, or a handler failed.
          if (this.#failure === undefined) await this.#waitForDemand(this.#options.signal);
        } finally {
          connection.release();
        }
      }
      if (this.#turnId === undefined && this.#failure === undefined) throw neverBegan(this.session.id);
    } catch (error) {
      this.#failure ??= { error };
    }
    this.#markQueued();
    if (this.#failure === undefined) this.#finished?.resolve();
    else this.#finished?.reject(this.#failure.error);
    for (const handler of this.#handlers.values()) handler.abort();
    for (const consumer of this.#consumers) consumer.wake?.();
  }

  #read(signal: AbortSignal): AsyncGenerator<UniversalEvent, void, void> {
    return reconnecting<UniversalEvent>({
      transport: this.#transport,
      signal,
      open: () => this.#open(signal),
      accept: (data) => {
        const event = parseEvent(data);
        return this.#position.advance(event) ? event : undefined;
      },
      ended: () => this.#ended,
    });
  }

  /** Opens the turn's stream: with the message until its first event has come, then at the position in the log. */
  async #open(signal: AbortSignal): Promise<Response | null> {
    const { attachments, raw } = this.#options;
    const { id, last } = { id: this.session.id, last: this.#position.last };
    if (last !== undefined) return openEvents(this.#transport, id, last, raw, signal);
    this.#attempts += 1;
    if (this.#attempts === 1) await raceAbort(this.#previous, signal);
    // A stream that ends without an event, twice, although the message does not wait: it was taken out of the queue.
    if (this.#attempts > 1 && !(await this.session.queue({ signal })).some((queued) => queued.id === this.messageId)) {
      this.#absences += 1;
      if (this.#absences > MAX_ABSENCES) throw cancelled(id, this.messageId);
    }
    const response = await this.#transport.stream("POST", `/v1/sessions/${segment(id)}/messages/stream`, {
      query: { include_raw: raw, hold: true },
      body: { id: this.messageId, message: this.#message, attachments },
      signal,
    });
    this.#markQueued();
    return response;
  }

  #observe(event: UniversalEvent): void {
    this.#batch.push(event);
    if (this.#batch.length >= MAX_BATCH_EVENTS) void this.state;
    this.#firstSequence ??= event.sequence;
    this.#lastSequence = event.sequence;
    switch (event.type) {
      case "turn.started":
        this.#turnId ??= event.data.turn_id;
        break;
      case "turn.ended":
        this.#ended = event.data.turn_id === this.#turnId || event.data.turn_id === "";
        break;
      case "session.ended":
        this.#ended = true;
        break;
      case "permission.requested":
        void this.#decide(event.data);
        break;
      case "question.requested":
        void this.#answer(event.data);
        break;
      case "permission.resolved":
        this.#handlers.get(`permission ${event.data.permission_id}`)?.abort();
        break;
      case "question.resolved":
        this.#handlers.get(`question ${event.data.question_id}`)?.abort();
        break;
      default:
        break;
    }
    for (const consumer of this.#consumers) {
      consumer.queue.push(event);
      consumer.wake?.();
      consumer.wake = undefined;
    }
  }

  #hasReaders(): boolean {
    return this.#drain || this.#consumers.size > 0;
  }

  #hasDemand(): boolean {
    return this.#drain || [...this.#consumers].some((consumer) => consumer.queue.length === 0 && consumer.wake !== undefined);
  }

  /** Waits until the next event is needed. */
  async #waitForDemand(signal: AbortSignal | undefined): Promise<void> {
    while (!this.#hasDemand()) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          signal?.removeEventListener("abort", wake);
          this.#demand = undefined;
          resolve();
        };
        this.#demand = wake;
        if (signal?.aborted === true) wake();
        else signal?.addEventListener("abort", wake);
      });
      signal?.throwIfAborted();
    }
  }

  async #decide(request: Permission): Promise<void> {
    const { onPermission } = this.#options;
    if (onPermission === undefined) return;
    await this.#handle(`permission ${request.permission_id}`, async (context) => {
      let reply: Reply = "reject";
      try {
        const decision = await onPermission(request, context);
        if (decision === "once" || decision === "always") reply = decision as Reply;
      } catch {
        // No decision is no consent.
      }
      return () => this.session.replyPermission(request.permission_id, reply, { signal: context.signal });
    });
  }

  async #answer(request: Question): Promise<void> {
    const { onQuestion } = this.#options;
    if (onQuestion === undefined) return;
    await this.#handle(`question ${request.question_id}`, async (context) => {
      let answer: string | readonly string[] | null = null;
      try {
        answer = (await onQuestion(request, context)) ?? null;
      } catch {
        // The question is rejected.
      }
      const choices = answer;
      return choices === null
        ? () => this.session.rejectQuestion(request.question_id, { signal: context.signal })
        : () => this.session.replyQuestion(request.question_id, choices, { signal: context.signal });
    });
  }

  /** Runs a handler, and sends its answer unless the request is resolved meanwhile. */
  async #handle(key: string, decide: (context: RequestContext) => Promise<() => Promise<void>>): Promise<void> {
    const handler = linkAbort(this.#options.signal);
    this.#handlers.set(key, handler);
    try {
      const send = await decide({ session: this.session, signal: handler.signal });
      const deadline = new RetryDeadline(this.#transport.reconnectTimeoutMs);
      for (let failures = 0; !handler.signal.aborted; failures += 1) {
        try {
          await send();
          return;
        } catch (error) {
          if (handler.signal.aborted || isAnswered(error)) return;
          if (!isTransient(error) || deadline.passed()) throw error;
          await retryDelay(failures, error, handler.signal);
        }
      }
    } catch (error) {
      if (handler.signal.aborted) return;
      // The pump ends, and tells it to all who wait.
      this.#failure = { error };
      this.#connection?.abort(error);
      this.#demand?.();
    } finally {
      handler.release();
      this.#handlers.delete(key);
    }
  }
}

function cancelled(sessionId: string, messageId: string): InterlinguaError {
  return new InterlinguaError({
    type: "urn:interlingua:error:message_cancelled",
    title: "Message cancelled",
    status: 409,
    detail: `the message ${messageId} was removed from the queue of session ${sessionId} before its turn began`,
    sessionId,
  });
}

function endedEarly(sessionId: string, messageId: string): ProtocolError {
  const what = `the turn of message ${messageId} in session ${sessionId} has not ended`;
  return new ProtocolError(`the server says that no further events will come, but ${what}`, 204);
}

function neverBegan(sessionId: string): InterlinguaError {
  return new InterlinguaError({
    type: "urn:interlingua:error:session_ended",
    title: "Session ended",
    status: 409,
    detail: `session ${sessionId} ended before the message began its turn`,
    sessionId,
  });
}

/** Whether the request was answered by another client, or is gone with its turn. */
function isAnswered(error: unknown): boolean {
  return (
    error instanceof InterlinguaError &&
    ["already_resolved", "permission_not_found", "question_not_found", "session_ended", "session_not_found"].includes(
      error.kind,
    )
  );
}

function hasText(content: readonly { type: string }[]): boolean {
  return content.some((part) => part.type === "text");
}
