import { raceAbort } from "./abort.js";
import type { CallOptions, Transport } from "./transport.js";
import { segment } from "./transport.js";
import { ProtocolError } from "./errors.js";
import { checkSequence, followSession, type EventOptions } from "./follow.js";
import type {
  CheckReport,
  EventPage,
  FileToSend,
  MessageList,
  QueuedMessageInfo,
  Reply,
  SessionInfo,
  SessionSecrets,
  UniversalEvent,
  UpdateSession,
} from "./generated/types.js";
import { FileSystem } from "./file-system.js";
import { newId } from "./ids.js";
import { type SendOptions, Turn } from "./turn.js";

/** What every answer with the state of a session has. */
const INFO = ["sessionId", "string"] as const;
/** Number of events of a page if the caller gives no limit. */
const DEFAULT_PAGE_EVENTS = 1000;

/** Which events to read, and how many at once. */
export interface HistoryOptions extends EventOptions {
  /** Maximum number of events of a page: 1000 if absent. */
  limit?: number | undefined;
}

/** How to queue a message. */
export type QueueOptions = Pick<SendOptions, "attachments" | "id" | "signal">;

/** What an uploaded file is called. */
export interface UploadOptions extends CallOptions {
  /** Name of the file, which the agent may see: that of a `File` if absent, else `file`. */
  filename?: string | undefined;
  /** Media type: that of a `Blob` if absent. */
  mime?: string | undefined;
}

/**
 * The stored events of a session. `await` reads one page; `for await` reads all pages that there are now.
 */
export interface History extends AsyncIterable<EventPage>, PromiseLike<EventPage> {}

/** One conversation with an agent. Making this object sends no request. */
export class Session {
  readonly id: string;
  /** Files in the directory of the session. */
  readonly fs: FileSystem;
  readonly #transport: Transport;
  readonly #path: string;
  /** Settles when the last message has been queued, so that messages keep their order. */
  #queued: Promise<void> = Promise.resolve();

  /** @internal */
  constructor(transport: Transport, id: string) {
    this.id = id;
    this.#transport = transport;
    this.fs = new FileSystem(transport, id);
    this.#path = `/v1/sessions/${segment(id)}`;
  }

  /**
   * Sends a message at once, and returns its turn: `await` it for the result, iterate it for the events, or both.
   * The message is sent exactly once, even if the connection breaks on the way. A message that is sent while a turn
   * runs waits for its own turn.
   */
  send(message: string, options: SendOptions = {}): Turn {
    const turn = new Turn(this.#transport, this, message, options, this.#queued);
    this.#queued = turn.queued;
    return turn;
  }

  /**
   * Queues a message without following its turn, and returns its id when the message is durable. It is queued exactly
   * once, even if the connection breaks on the way. Waits for the messages that were sent before.
   */
  async queueMessage(message: string, options: QueueOptions = {}): Promise<string> {
    const { id = newId("msg_"), attachments, signal } = options;
    const previous = this.#queued;
    const post = async () => {
      if (signal === undefined) await previous;
      else await raceAbort(previous, signal);
      await this.#transport.empty("POST", `${this.#path}/messages`, {
        body: { id, message, attachments },
        signal,
        repeatable: true,
      });
    };
    const posted = post();
    this.#queued = posted.catch(() => undefined);
    await posted;
    return id;
  }

  /**
   * Follows the events of the session until it ends: those that are stored after `after`, then those that come. Each
   * comes exactly once and in order, also across lost connections and restarts of the server.
   */
  events(options: EventOptions = {}): AsyncGenerator<UniversalEvent, void, void> {
    checkSequence(options.after ?? 0);
    return followSession(this.#transport, this.id, options);
  }

  /** Reads stored events. */
  history(options: HistoryOptions = {}): History {
    const read = async (after: number): Promise<EventPage> => {
      const { limit = DEFAULT_PAGE_EVENTS, raw, signal } = options;
      return this.#transport.json<EventPage>("GET", `${this.#path}/events`, ["events", "array"], {
        query: { offset: after, limit, include_raw: raw },
        signal,
        repeatable: true,
      });
    };
    const first = checkSequence(options.after ?? 0);
    return {
      then: (resolve, reject) => read(first).then(resolve, reject),
      async *[Symbol.asyncIterator]() {
        let after = first;
        for (;;) {
          const page = await read(after);
          const last = page.events.at(-1);
          if (last === undefined) return;
          yield page;
          if (!page.hasMore) return;
          // Reading on from there would never end.
          if (!(last.sequence > after)) throw new ProtocolError(`the events after ${after} do not have later sequences`, 200);
          after = last.sequence;
        }
      },
    };
  }

  /** What the session is doing, and its settings. */
  info(options: CallOptions = {}): Promise<SessionInfo> {
    return this.#transport.json<SessionInfo>("GET", this.#path, INFO, { ...options, repeatable: true });
  }

  /** Checks the session against the lifecycle rules, and counts its events by type. */
  check(options: CallOptions = {}): Promise<CheckReport> {
    return this.#transport.json<CheckReport>("GET", `${this.#path}/check`, ["valid", "boolean"], { ...options, repeatable: true });
  }

  /**
   * Uploads a file that is not on the server's machine, and returns an attachment for messages of this session. The
   * server removes it together with the session.
   */
  upload(content: Blob | Uint8Array<ArrayBuffer> | string, options: UploadOptions = {}): Promise<FileToSend> {
    const { name, type } = content instanceof Blob ? (content as Blob & { name?: string }) : {};
    const mime = options.mime ?? (type || "application/octet-stream");
    return this.#transport.json<FileToSend>("POST", `${this.#path}/attachments`, ["path", "string"], {
      query: { filename: options.filename ?? name ?? "file" },
      headers: { "content-type": mime },
      content,
      signal: options.signal,
    });
  }

  /** The messages whose turns have not begun, in order. */
  async queue(options: CallOptions = {}): Promise<QueuedMessageInfo[]> {
    const path = `${this.#path}/messages`;
    const expected = ["messages", "array"] as const;
    const list = await this.#transport.json<MessageList>("GET", path, expected, { ...options, repeatable: true });
    return list.messages;
  }

  /** Removes a message from the queue. Fails with `message_conflict` if its turn has begun. */
  cancelMessage(messageId: string, options: CallOptions = {}): Promise<void> {
    const path = `${this.#path}/messages/${segment(messageId)}`;
    return this.#transport.empty("DELETE", path, { ...options, repeatable: true });
  }

  /** Changes title, labels, model or permission mode. What the agent cannot change while it runs is refused. */
  update(changes: UpdateSession, options: CallOptions = {}): Promise<SessionInfo> {
    return this.#transport.json<SessionInfo>("PATCH", this.#path, INFO, { ...options, body: changes, repeatable: true });
  }

  /** Supplies values that the session was created with, which a restart of the server has lost. */
  setSecrets(secrets: SessionSecrets, options: CallOptions = {}): Promise<void> {
    return this.#transport.empty("PUT", `${this.#path}/secrets`, { ...options, body: secrets, repeatable: true });
  }

  /** Ends the running turn as `interrupted`. The session and its queue go on. */
  interrupt(options: CallOptions = {}): Promise<void> {
    return this.#transport.empty("POST", `${this.#path}/interrupt`, options);
  }

  /** Ends the session and its agent. Its events stay. Does nothing if it has ended. */
  terminate(options: CallOptions = {}): Promise<void> {
    return this.#transport.empty("POST", `${this.#path}/terminate`, { ...options, repeatable: true });
  }

  /** Ends the session and removes it with its events. */
  delete(options: CallOptions = {}): Promise<void> {
    return this.#transport.empty("DELETE", this.#path, options);
  }

  /** Answers a permission request. */
  replyPermission(permissionId: string, reply: Reply, options: CallOptions = {}): Promise<void> {
    const path = `${this.#path}/permissions/${segment(permissionId)}/reply`;
    return this.#transport.empty("POST", path, { ...options, body: { reply } });
  }

  /** Answers a question with one choice, several choices, or a text. */
  replyQuestion(questionId: string, answer: string | readonly string[], options: CallOptions = {}): Promise<void> {
    const path = `${this.#path}/questions/${segment(questionId)}/reply`;
    const choices = typeof answer === "string" ? [answer] : answer;
    return this.#transport.empty("POST", path, { ...options, body: { answers: [choices] } });
  }

  /** Declines to answer a question. */
  rejectQuestion(questionId: string, options: CallOptions = {}): Promise<void> {
    return this.#transport.empty("POST", `${this.#path}/questions/${segment(questionId)}/reject`, options);
  }
}
