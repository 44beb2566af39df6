import type {
  FsActionResponse,
  FsEntry,
  FsMoveResponse,
  FsStat,
  FsUploadBatchResponse,
  FsWriteResponse,
} from "./generated/types.js";
import type { CallOptions, Transport } from "./transport.js";

/** How to move a file. */
export interface MoveOptions extends CallOptions {
  /** Whether an existing file, or an empty directory, is replaced. */
  overwrite?: boolean | undefined;
}

/** How to delete an entry. */
export interface DeleteOptions extends CallOptions {
  /** Whether a directory is deleted with everything in it. */
  recursive?: boolean | undefined;
}

/**
 * Files on the server's machine, in the directory of a session or in the roots of the server. Needs a server that runs
 * with `--fs`. No path leads out of the directory.
 */
export class FileSystem {
  readonly #transport: Transport;
  readonly #session: string | undefined;

  /** @internal */
  constructor(transport: Transport, session?: string) {
    this.#transport = transport;
    this.#session = session;
  }

  /** The entries of a directory, by name: of the directory itself if there is no path. */
  list(path = ".", options: CallOptions = {}): Promise<FsEntry[]> {
    return this.#transport.json<FsEntry[]>("GET", "/v1/fs/entries", "array", { ...options, query: this.#query(path), repeatable: true });
  }

  /** What is known about a file or directory. */
  stat(path: string, options: CallOptions = {}): Promise<FsStat> {
    return this.#transport.json<FsStat>("GET", "/v1/fs/stat", ["path", "string"], { ...options, query: this.#query(path), repeatable: true });
  }

  /** The answer with the content of a file, which is not read yet: `await (await fs.open(path)).text()`. */
  open(path: string, options: CallOptions = {}): Promise<Response> {
    return this.#transport.file("/v1/fs/file", { ...options, query: this.#query(path) });
  }

  /** The content of a file. */
  async read(path: string, options: CallOptions = {}): Promise<Uint8Array> {
    const response = await this.open(path, options);
    return new Uint8Array(await response.arrayBuffer());
  }

  /** Writes a file, and the directories that contain it. An existing file is replaced in one step. */
  write(path: string, content: BodyInit, options: CallOptions = {}): Promise<FsWriteResponse> {
    const headers = { "content-type": "application/octet-stream" };
    const request = { ...options, query: this.#query(path), content, headers, timeoutMs: Number.POSITIVE_INFINITY };
    return this.#transport.json<FsWriteResponse>("PUT", "/v1/fs/file", ["path", "string"], request);
  }

  /** Creates a directory, and those that contain it. */
  mkdir(path: string, options: CallOptions = {}): Promise<FsActionResponse> {
    return this.#transport.json<FsActionResponse>("POST", "/v1/fs/mkdir", ["path", "string"], { ...options, query: this.#query(path), repeatable: true });
  }

  /** Moves a file or directory. */
  move(from: string, to: string, { overwrite, signal }: MoveOptions = {}): Promise<FsMoveResponse> {
    const body = { from, to, overwrite: overwrite ?? null };
    return this.#transport.json<FsMoveResponse>("POST", "/v1/fs/move", ["to", "string"], { signal, query: { sessionId: this.#session }, body });
  }

  /** Deletes a file, a link or a directory. */
  delete(path: string, { recursive, signal }: DeleteOptions = {}): Promise<FsActionResponse> {
    return this.#transport.json<FsActionResponse>("DELETE", "/v1/fs/entry", ["path", "string"], { signal, query: { ...this.#query(path), recursive } });
  }

  /** Unpacks a tar archive, which is not compressed, into a directory. */
  upload(archive: BodyInit, path = ".", options: CallOptions = {}): Promise<FsUploadBatchResponse> {
    const headers = { "content-type": "application/x-tar" };
    const request = { ...options, query: this.#query(path), content: archive, headers, timeoutMs: Number.POSITIVE_INFINITY };
    return this.#transport.json<FsUploadBatchResponse>("POST", "/v1/fs/upload-batch", ["truncated", "boolean"], request);
  }

  #query(path: string) {
    return { path, sessionId: this.#session };
  }
}
