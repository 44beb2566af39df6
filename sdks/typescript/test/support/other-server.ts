/** Servers that are not ours, and streams that they send. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

const others: Server[] = [];

/** Starts a server that answers in this way, and returns its address. */
export async function other(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  others.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Stops all servers. */
export function closeOthers(): void {
  for (const server of others.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
}

const DELTA = { item_id: "i", native_item_id: null, delta: "x" };

/** An event of the session `s`. */
export function event(sequence: number, type = "item.delta", data: unknown = DELTA) {
  const common = { event_id: `evt_${sequence}`, time: "2026-01-01T00:00:00.000Z", session_id: "s" };
  return { ...common, sequence, native_session_id: null, source: "agent", synthetic: false, raw: null, type, data };
}

export const frame = (value: { sequence: number }) => `id: ${value.sequence}\ndata: ${JSON.stringify(value)}\n\n`;

/** A server that streams these frames and closes. */
export const streaming = (...frames: string[]): RequestListener => (_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(frames.join(""));
};

/** A server that answers every request with this JSON. */
export const answering = (json: string, status = 200): RequestListener => (_, response) => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(json);
};
