import { ProtocolError } from "./errors.js";

/** A server-sent event. */
export interface SseFrame {
  id: string | undefined;
  event: string | undefined;
  data: string;
}

/** Maximum length of a frame in UTF-16 code units. The server's own limit for a line of an agent is 64 MiB. */
export const MAX_FRAME_LENGTH = 256 * 1024 * 1024;

/**
 * Incremental decoder for server-sent events. The result does not depend on how the text is split: line ends are LF, CR
 * or CRLF. Comments are skipped, and so are frames without data, but their `id` counts for the frames that follow.
 */
export class SseDecoder {
  readonly #maxLength: number;
  readonly #text = new TextDecoder();
  /** Pieces of the line that is not complete. They are joined once, when its end has come. */
  #line: string[] = [];
  #lineLength = 0;
  /** The last chunk ended with CR, so a line feed at the start of the next one belongs to it. */
  #afterCr = false;
  #data: string[] = [];
  #dataLength = 0;
  #event: string | undefined;
  #id: string | undefined;
  #lastEventId: string | undefined;

  constructor(maxLength = MAX_FRAME_LENGTH) {
    this.#maxLength = maxLength;
  }

  /** The `id` of the last complete frame that had one, with data or without. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** Decodes the next bytes and returns the frames that they complete. */
  push(bytes: Uint8Array): SseFrame[] {
    const frames: SseFrame[] = [];
    const chunk = this.#text.decode(bytes, { stream: true });
    if (chunk === "") return frames;
    let start = 0;
    if (this.#afterCr) {
      this.#afterCr = false;
      if (chunk[0] === "\n") start = 1;
    }
    let lf = chunk.indexOf("\n", start);
    let cr = chunk.indexOf("\r", start);
    while (lf !== -1 || cr !== -1) {
      const end = lf === -1 ? cr : cr === -1 ? lf : Math.min(lf, cr);
      this.#append(chunk.slice(start, end));
      const frame = this.#endLine();
      if (frame !== undefined) frames.push(frame);
      start = end + 1;
      if (end === cr) {
        if (start === chunk.length) this.#afterCr = true;
        else if (chunk[start] === "\n") start += 1;
        cr = chunk.indexOf("\r", start);
      }
      if (lf !== -1 && lf < start) lf = chunk.indexOf("\n", start);
    }
    this.#append(chunk.slice(start));
    return frames;
  }

  #append(piece: string): void {
    if (piece === "") return;
    this.#line.push(piece);
    this.#lineLength += piece.length;
    if (this.#lineLength + this.#dataLength > this.#maxLength) {
      throw new ProtocolError(`a server-sent event is longer than ${this.#maxLength} characters`, 200);
    }
  }

  #endLine(): SseFrame | undefined {
    const line = this.#line.length === 1 ? (this.#line[0] as string) : this.#line.join("");
    this.#line = [];
    this.#lineLength = 0;
    if (line === "") return this.#endFrame();
    const colon = line.indexOf(":");
    if (colon === 0) return undefined;
    const field = colon === -1 ? line : line.slice(0, colon);
    let value = colon === -1 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "data") {
      this.#data.push(value);
      this.#dataLength += value.length + 1;
    } else if (field === "event") {
      this.#event = value;
    } else if (field === "id" && !value.includes("\0")) {
      this.#id = value;
    }
    return undefined;
  }

  #endFrame(): SseFrame | undefined {
    const frame =
      this.#data.length === 0 ? undefined : { id: this.#id, event: this.#event, data: this.#data.join("\n") };
    this.#data = [];
    this.#dataLength = 0;
    this.#event = undefined;
    this.#lastEventId = this.#id;
    return frame;
  }
}
