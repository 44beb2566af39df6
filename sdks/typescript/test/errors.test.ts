import { inspect } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  ConnectionError,
  GapError,
  Interlingua,
  InterlinguaError,
  ProtocolError,
  TimeoutError,
  type UniversalEvent,
} from "../src/client.js";
import { closeOthers, event, frame, other, streaming } from "./support/other-server.js";
import { TestServer, TOKEN } from "./support/server.js";

let real: TestServer;

beforeAll(async () => {
  real = await TestServer.start();
});
afterAll(() => real.kill());
afterEach(closeOthers);

const connect = (baseUrl: string, options = {}) => Interlingua.connect({ baseUrl, token: TOKEN, ...options });

async function collect(events: AsyncIterable<UniversalEvent>): Promise<UniversalEvent[]> {
  const found = [];
  for await (const value of events) found.push(value);
  return found;
}

describe("a problem of the server", () => {
  test("is an InterlinguaError with its kind", async () => {
    const client = connect(real.baseUrl);
    const error = await client.session("no such session").info().catch((error: unknown) => error);
    expect(error).toBeInstanceOf(InterlinguaError);
    expect(error).toMatchObject({ status: 404, kind: "session_not_found", sessionId: "no such session" });
    await expect(client.createSession({ agent: "nobody" })).rejects.toMatchObject({ kind: "unsupported_agent", status: 400 });
    const session = await client.createSession({ agent: "mock" });
    await expect(client.createSession({ agent: "mock", id: session.id })).rejects.toMatchObject({
      kind: "session_already_exists",
    });
    await expect(session.replyPermission("none", "once")).rejects.toMatchObject({ kind: "permission_not_found" });
  });

  test("is at once one for a wrong token, for calls, streams and turns", async () => {
    const client = connect(real.baseUrl, { token: "wrong" });
    const expected = { name: "InterlinguaError", kind: "token_invalid", status: 401 };
    await expect(client.agents()).rejects.toMatchObject(expected);
    await expect(collect(client.session("s").events())).rejects.toMatchObject(expected);
    await expect(client.session("s").send("echo")).rejects.toMatchObject(expected);
  });

  test("of a full disk is not tried again", async () => {
    let requests = 0;
    const url = await other((_, response) => {
      requests += 1;
      response.writeHead(507, { "content-type": "application/problem+json" });
      response.end(
        JSON.stringify({
          type: "urn:interlingua:error:storage_full",
          title: "Storage full",
          status: 507,
          detail: "the disk is full; free some space",
        }),
      );
    });
    await expect(connect(url).session("s").send("echo")).rejects.toMatchObject({
      kind: "storage_full",
      message: "the disk is full; free some space",
    });
    expect(requests).toBe(1);
  });
});

describe("an address", () => {
  test("that is no URL is refused", () => {
    expect(() => connect("localhost:2468")).toThrow(/http:\/\//);
    expect(() => connect("not a url")).toThrow(TypeError);
  });

  test("with a user name or password is refused, and does not show it", () => {
    for (const address of ["http://me:s3cret@127.0.0.1:2468", "http://s3cret@127.0.0.1:2468"]) {
      expect(() => connect(address)).toThrow(/baseUrl must not contain a user name/);
      expect(() => connect(address)).not.toThrow(/s3cret/);
    }
  });

  test("may end with a slash or the path of the API", async () => {
    for (const suffix of ["/", "/v1", "/v1/"]) {
      expect((await connect(`${real.baseUrl}${suffix}`).health()).status).toBe("ok");
    }
  });

  test("where nothing listens is a ConnectionError at once", async () => {
    const url = await other(() => {});
    closeOthers();
    const client = connect(url);
    await expect(client.health()).rejects.toBeInstanceOf(ConnectionError);
    await expect(client.health()).rejects.toThrow(/ECONNREFUSED/);
    await expect(collect(client.session("s").events())).rejects.toBeInstanceOf(ConnectionError);
    await expect(client.session("s").send("echo")).rejects.toBeInstanceOf(ConnectionError);
  });

  test("of a server of another kind is a ProtocolError that says what to check", async () => {
    const url = await other((_, response) => {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" });
      response.end("<!doctype html><title>Welcome to nginx!</title>");
    });
    const client = connect(url);
    for (const call of [client.health(), client.agents(), client.session("s").info(), collect(client.session("s").events()), client.session("s").send("echo")]) {
      const error = await Promise.resolve(call).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(ProtocolError);
      expect(String(error)).toContain("baseUrl");
      expect(String(error)).toContain("text/html");
    }
  });

  test("of a JSON API of another kind is a ProtocolError", async () => {
    const url = await other((request, response) => {
      response.writeHead(request.url === "/v1/health" ? 200 : 404, { "content-type": "application/json" });
      response.end('{"hello":"world"}');
    });
    await expect(connect(url).health()).rejects.toThrow(/Interlingua server.*hello/);
    await expect(connect(url).agents()).rejects.toBeInstanceOf(ProtocolError);
  });
});

test("a token or header that cannot be sent is refused, and not shown", () => {
  for (const token of ["s3cret\n", "s3 cret", "s3cret\u00e9"]) {
    const error = (() => {
      try {
        return connect(real.baseUrl, { token });
      } catch (error) {
        return error;
      }
    })();
    expect(error).toBeInstanceOf(TypeError);
    expect(inspect(error)).not.toContain("s3");
  }
  expect(() => connect(real.baseUrl, { headers: { authorization: "s3cret\nx" } })).toThrow(/^headers has/);
});

test("a position that no event has is refused", () => {
  const session = connect(real.baseUrl).session("s");
  for (const after of [-1, 1.5, Number.NaN, 2 ** 60]) {
    expect(() => session.events({ after })).toThrow(TypeError);
    expect(() => session.history({ after })).toThrow(/`after` must be the sequence/);
  }
});

describe("an answer", () => {
  test("of cut JSON is a ProtocolError", async () => {
    const url = await other((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"agents":[{"id":"mo');
    });
    await expect(connect(url).agents()).rejects.toThrow(/not complete JSON/);
  });

  test("that is cut off by the network is a ConnectionError", async () => {
    const url = await other((_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"agents":[');
      setTimeout(() => response.destroy(), 20);
    });
    await expect(connect(url, { reconnectTimeoutMs: 100 }).agents()).rejects.toThrow(/cut off/);
  });

  test("that does not come is a TimeoutError", async () => {
    const url = await other(() => {});
    const client = connect(url, { timeoutMs: 100 });
    await expect(client.agents()).rejects.toBeInstanceOf(TimeoutError);
    await expect(client.session("s").send("echo")).rejects.toBeInstanceOf(TimeoutError);
  });

  test("that never ends is cancelled by a signal", async () => {
    const url = await other((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write("{");
    });
    await expect(connect(url).agents({ signal: AbortSignal.timeout(50) })).rejects.toMatchObject({ name: "TimeoutError" });
    const aborted = AbortSignal.abort(new Error("before"));
    await expect(connect(url).agents({ signal: aborted })).rejects.toThrow("before");
  });
});

describe("a stream", () => {
  test("with a gap throws a GapError", async () => {
    const url = await other(streaming(frame(event(1)), frame(event(2)), frame(event(4))));
    const error = await collect(connect(url).session("s").events()).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(GapError);
    expect(error).toMatchObject({ expected: 3, found: 4 });
  });

  test("that repeats events after a reconnect delivers each once", async () => {
    const last = event(3, "session.ended", { reason: "completed", terminated_by: "agent" });
    let requests = 0;
    const url = await other((request, response) => {
      requests += 1;
      const frames = requests === 1 ? [event(1), event(2)] : [event(1), event(2), last];
      streaming(...frames.map(frame))(request, response);
    });
    const events = await collect(connect(url).session("s").events());
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });

  test("with a damaged event is read again, a few times", async () => {
    let requests = 0;
    const url = await other((request, response) => {
      requests += 1;
      streaming(frame(event(1)), 'id: 2\ndata: {"sequence":2,"ty\n\n')(request, response);
    });
    await expect(collect(connect(url).session("s").events())).rejects.toThrow(/not valid JSON/);
    expect(requests).toBeGreaterThan(1);
    expect(requests).toBeLessThan(10);
  });

  test("of a newer server has unknown types and values, and all of them arrive", async () => {
    const item = { item_id: "i", native_item_id: null, parent_id: null, kind: "hologram", role: "robot", status: "in_progress" };
    const url = await other(
      streaming(
        frame(event(1, "session.started", {})),
        frame(event(2, "turn.paused", { why: "lunch" })),
        frame(event(3, "item.started", { item: { ...item, content: [{ type: "smell", strength: 7 }] } })),
        frame(event(4, "session.ended", { reason: "bored", terminated_by: "moon" })),
      ),
    );
    const events = await collect(connect(url).session("s").events());
    expect(events.map(({ type }) => type)).toEqual(["session.started", "turn.paused", "item.started", "session.ended"]);
    for (const found of events) {
      switch (found.type) {
        case "session.started":
        case "item.started":
        case "session.ended":
          break;
        default: {
          const unknown: { type: string; data: unknown } = found;
          expect(unknown.data).toEqual({ why: "lunch" });
        }
      }
    }
  });
});

test("an id that would change the path is refused", () => {
  const client = connect(real.baseUrl);
  for (const id of ["", ".", ".."]) expect(() => client.session(id)).toThrow(TypeError);
});

test("an id with any characters is one session", async () => {
  const client = connect(real.baseUrl);
  const id = "a/b?c#d %2F ü👋";
  const session = await client.createSession({ agent: "mock", id });
  expect((await session.info()).sessionId).toBe(id);
  expect((await session.send("echo hi")).text).toBe("hi");
});
