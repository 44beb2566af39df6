/**
 * Serves the page of a folder in front of a server, for work on the page: the program need not be built again. Headers of the
 * page are those of the server, so that the same policy holds.
 */
import { readFile } from "node:fs/promises";
import { createServer, request as send, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { extname } from "node:path";

const TYPES: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

/** A proxy in front of the server at an address. */
export class PageProxy {
  readonly #dist: string;
  readonly #server: Server;
  readonly #upstream: () => string;
  address = "";

  private constructor(dist: string, upstream: () => string) {
    this.#dist = dist;
    this.#upstream = upstream;
    this.#server = createServer((request, response) => void this.#forward(request, response));
  }

  static async start(dist: string, upstream: () => string): Promise<PageProxy> {
    const proxy = new PageProxy(dist, upstream);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    const address = proxy.#server.address();
    if (address === null || typeof address === "string") throw new Error("the proxy has no port");
    proxy.address = `http://127.0.0.1:${address.port}`;
    return proxy;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", this.address);
    const isPage = request.method === "GET" && pathname.startsWith("/ui/");
    const url = isPage ? "/ui/" : request.url;
    const headers = { ...request.headers, ...(isPage && { "accept-encoding": "identity", "if-none-match": "" }) };
    const upstream = send(`${this.#upstream()}${url}`, { method: request.method, headers });
    upstream.on("error", () => response.destroy());
    upstream.on("response", (answer) => {
      if (isPage) {
        answer.resume();
        void sendFile(this.#dist, pathname.slice("/ui/".length), answer.headers, response);
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.on("error", () => response.destroy());
      answer.on("aborted", () => response.destroy());
    });
    response.on("close", () => upstream.destroy());
    request.pipe(upstream);
  }
}

async function sendFile(dist: string, path: string, headers: IncomingMessage["headers"], response: ServerResponse): Promise<void> {
  const type = TYPES[extname(path)];
  const { "content-length": _length, "content-encoding": _encoding, etag: _tag, ...others } = headers;
  try {
    const content = await readFile(`${dist}/${type === undefined || path.startsWith("sessions/") ? "index.html" : path}`);
    response.writeHead(200, { ...others, "content-type": type ?? "text/html; charset=utf-8", "content-length": content.length });
    response.end(content);
  } catch {
    response.writeHead(404).end();
  }
}
