/** A TCP proxy that treats connections badly. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export interface ProxyOptions {
  /** Cuts a connection after this number of server-sent events. */
  cutAfterEvents?: number;
  /** Sends what comes from the server in pieces of this size. */
  pieceBytes?: number;
}

export class Proxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Number of connections that were cut. */
  cuts = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(port: number, options: ProxyOptions): Promise<Proxy> {
    const proxy: Proxy = new Proxy(createServer((socket) => proxy.#accept(socket, port, options)));
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket, port: number, { cutAfterEvents = Infinity, pieceBytes = Infinity }: ProxyOptions): void {
    const upstream = connect(port, "127.0.0.1");
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on("error", () => {}).on("close", () => {
        this.#sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    let events = 0;
    upstream.on("data", (bytes: Buffer) => {
      let end = bytes.length;
      for (let at = bytes.indexOf("\n\n"); at !== -1 && end === bytes.length; at = bytes.indexOf("\n\n", at + 1)) {
        events += 1;
        // Cuts in the middle of the event that follows.
        if (events >= cutAfterEvents) end = Math.min(bytes.length, at + 20);
      }
      const kept = bytes.subarray(0, end);
      for (let at = 0; at < kept.length; at += Math.min(pieceBytes, kept.length)) {
        client.write(kept.subarray(at, at + Math.min(pieceBytes, kept.length)));
      }
      if (events >= cutAfterEvents) {
        this.cuts += 1;
        client.end();
        upstream.destroy();
      }
    });
  }
}

/** A TCP proxy that gives each connection to the next server, or to the one after it while that one is not there. */
export class RoundRobinProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #ports: number[];
  #next = 0;
  /** Number of connections of each server. */
  readonly connections: number[];

  private constructor(ports: number[]) {
    this.#ports = ports;
    this.connections = ports.map(() => 0);
    this.#server = createServer((socket) => this.#accept(socket, ports.length));
  }

  static async start(ports: number[]): Promise<RoundRobinProxy> {
    const proxy = new RoundRobinProxy(ports);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket, attempts: number): void {
    client.setNoDelay(true).pause();
    this.#sockets.add(client);
    client.on("error", () => {}).on("close", () => this.#sockets.delete(client));
    const index = this.#next++ % this.#ports.length;
    const upstream = connect(this.#ports[index] as number, "127.0.0.1");
    let isConnected = false;
    upstream.on("connect", () => {
      isConnected = true;
      this.connections[index] = (this.connections[index] as number) + 1;
      upstream.setNoDelay(true);
      client.pipe(upstream).pipe(client);
      client.resume();
    });
    upstream.on("error", () => {}).on("close", () => {
      if (!isConnected && attempts > 1) this.#accept(client, attempts - 1);
      else client.destroy();
    });
    client.on("close", () => upstream.destroy());
  }
}
