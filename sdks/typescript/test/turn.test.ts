import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Interlingua, InterlinguaError, type Session, type UniversalEvent } from "../src/client.js";
import { TestServer, TOKEN } from "./support/server.js";

let server: TestServer;
let client: Interlingua;

beforeAll(async () => {
  server = await TestServer.start();
  client = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN });
});
afterAll(() => server.kill());

const newSession = () => client.createSession({ agent: "mock" });

async function collect(events: AsyncIterable<UniversalEvent>): Promise<UniversalEvent[]> {
  const found = [];
  for await (const event of events) found.push(event);
  return found;
}

const types = (events: UniversalEvent[]) => events.map((event) => event.type);

describe("a turn", () => {
  test("is iterated from turn.started to turn.ended", async () => {
    const session = await newSession();
    const events = await collect(session.send("tool"));
    expect(types(events).at(0)).toBe("turn.started");
    expect(types(events).at(-1)).toBe("turn.ended");
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => 2 + index));
  });

  test("is awaited for its result", async () => {
    const session = await newSession();
    const { status, text, usage, items, error, turnId } = await session.send("tool");
    expect({ status, text, error }).toEqual({ status: "completed", text: "Done.", error: null });
    expect(usage?.output_tokens).toBeGreaterThan(0);
    expect(items.map(({ item }) => item.kind)).toEqual(["message", "message", "tool_call", "tool_result", "message"]);
    expect(items.every((item) => item.turnId === turnId)).toBe(true);
  });

  test("is iterated and awaited at once, and iterated again", async () => {
    const session = await newSession();
    const turn = session.send("markdown");
    const [first, result, second] = await Promise.all([collect(turn), turn, collect(turn)]);
    expect(result.status).toBe("completed");
    expect(second).toEqual(first);
    expect(await collect(turn)).toEqual(first);
  });

  test("goes on after a loop that was left", async () => {
    const session = await newSession();
    const turn = session.send("markdown");
    for await (const event of turn) {
      if (event.type === "item.delta") break;
    }
    expect(turn.state.status).toBe("running");
    expect((await turn).status).toBe("completed");
    expect(types(await collect(turn)).at(-1)).toBe("turn.ended");
  });

  test("is `failed`, not thrown, when the agent fails", async () => {
    const session = await newSession();
    const { status, error } = await session.send("error");
    expect(status).toBe("failed");
    expect(error?.message).not.toBe("");
  });

  test("that waits in the queue has its own events only", async () => {
    const session = await newSession();
    const [one, two] = await Promise.all([collect(session.send("echo one")), collect(session.send("echo two"))]);
    expect(types(one).filter((type) => type === "turn.started")).toHaveLength(1);
    expect(types(two).filter((type) => type === "turn.started")).toHaveLength(1);
    expect(two[0]?.data).not.toEqual(one[0]?.data);
  });

  test("that never begins is an error", async () => {
    const session = await newSession();
    await session.terminate();
    await expect(session.send("echo late")).rejects.toMatchObject({ name: "InterlinguaError", kind: "session_ended" });
    await expect(collect(session.send("echo late"))).rejects.toBeInstanceOf(InterlinguaError);
  });

  test("has native payloads on request", async () => {
    const session = await newSession();
    const events = await collect(session.send("echo raw", { raw: true }));
    expect(events.filter((event) => event.source === "agent").every((event) => event.raw !== null)).toBe(true);
  });

  test("takes attachments", async () => {
    const session = await newSession();
    const { items } = await session.send("echo attached", { attachments: [{ path: import.meta.filename }] });
    expect(JSON.stringify(items[0]?.item)).toContain("turn.test.ts");
  });

  test("takes uploaded files", async () => {
    const session = await newSession();
    const png = await session.upload(new File([Uint8Array.of(1, 2, 3)], "shot.png", { type: "image/png" }));
    expect(png).toMatchObject({ filename: "shot.png", mime: "image/png" });
    expect([...readFileSync(png.path)]).toEqual([1, 2, 3]);
    const text = await session.upload("words", { filename: "notes.txt", mime: "text/plain" });
    expect(readFileSync(text.path, "utf8")).toBe("words");
    const { items } = await session.send("echo attached", { attachments: [png, text] });
    expect(JSON.stringify(items[0]?.item)).toContain("shot.png");
    await expect(session.upload("x", { filename: "../escape" })).rejects.toMatchObject({ status: 400 });
    await session.delete();
    expect(existsSync(png.path)).toBe(false);
  });

  test("stops reading when its signal is aborted", async () => {
    const session = await newSession();
    const controller = new AbortController();
    const turn = session.send("permission", { signal: controller.signal });
    const reason = new Error("enough");
    const read = (async () => {
      for await (const event of turn) {
        if (event.type === "permission.requested") controller.abort(reason);
      }
    })();
    await expect(read).rejects.toBe(reason);
    await expect(turn).rejects.toBe(reason);
    await session.interrupt();
  });

  test("is interrupted", async () => {
    const session = await newSession();
    const turn = session.send("permission");
    for await (const event of turn) {
      if (event.type === "permission.requested") break;
    }
    await session.interrupt();
    expect((await turn).status).toBe("interrupted");
  });
});

describe("permissions and questions", () => {
  const resolutions = (events: UniversalEvent[]) =>
    events.flatMap((event) => (event.type === "permission.resolved" ? [event.data.status] : []));

  test("a handler decides", async () => {
    const session = await newSession();
    const actions: string[] = [];
    const turn = session.send("permission", {
      onPermission: ({ action }) => {
        actions.push(action);
        return actions.length === 1 ? "once" : "reject";
      },
    });
    const events = await collect(turn);
    expect(actions).toHaveLength(2);
    expect(resolutions(events).toSorted()).toEqual(["approved", "denied"]);
  });

  test("a handler that throws rejects", async () => {
    const session = await newSession();
    const turn = session.send("permission", {
      onPermission: () => {
        throw new Error("broken");
      },
    });
    expect(resolutions(await collect(turn))).toEqual(["denied", "denied"]);
  });

  test("a handler that returns nothing rejects", async () => {
    const session = await newSession();
    const turn = session.send("permission", { onPermission: (() => undefined) as never });
    expect(resolutions(await collect(turn))).toEqual(["denied", "denied"]);
  });

  test("without a handler another client answers", async () => {
    const session = await newSession();
    const other = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN }).session(session.id);
    const turn = session.send("permission");
    for await (const event of turn) {
      if (event.type === "permission.requested") await other.replyPermission(event.data.permission_id, "once");
    }
    expect((await turn).status).toBe("completed");
  });

  test("the handler of one client is told when another one answers", async () => {
    const session = await newSession();
    const other = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN }).session(session.id);
    let told = 0;
    const turn = session.send("permission", {
      onPermission: async ({ permission_id }, { signal }) => {
        await other.replyPermission(permission_id, "reject");
        if (!signal.aborted) await once(signal, "abort");
        told += 1;
        return "always";
      },
    });
    const events = await collect(turn);
    expect(resolutions(events)).toEqual(["denied", "denied"]);
    await expect.poll(() => told).toBe(2);
  });

  test("two clients answer one permission, and one of them wins", async () => {
    const session = await newSession();
    const second = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN }).session(session.id);
    const following = second.events({ signal: AbortSignal.timeout(10_000) });
    const answering = (async () => {
      for await (const event of following) {
        if (event.type === "permission.requested") {
          await second.replyPermission(event.data.permission_id, "once").catch((error: unknown) => {
            expect(error).toMatchObject({ kind: "already_resolved", status: 409 });
          });
        }
        if (event.type === "turn.ended") return;
      }
    })();
    const events = await collect(session.send("permission", { onPermission: () => "once" }));
    await answering;
    expect(resolutions(events)).toEqual(["approved", "approved"]);
  });

  test("questions are answered with choices, or rejected", async () => {
    const session = await newSession();
    const asked: string[] = [];
    const turn = session.send("question", {
      onQuestion: ({ options, prompt }) => {
        asked.push(prompt);
        return asked.length === 1 ? (options[0] ?? "text") : null;
      },
    });
    const answers = (await collect(turn)).flatMap((event) =>
      event.type === "question.resolved" ? [event.data.status] : [],
    );
    expect(answers.toSorted()).toEqual(["answered", "rejected"]);
  });
});

describe("a session's events", () => {
  test("follow the session to its end, from any position", async () => {
    const session = await newSession();
    await session.send("echo one");
    const following = collect(session.events({ after: 3 }));
    await session.send("echo two");
    await session.terminate();
    const events = await following;
    expect(events[0]?.sequence).toBe(4);
    expect(types(events).at(-1)).toBe("session.ended");
    // An ended session has nothing more to tell.
    expect(await collect(session.events({ after: events.at(-1)?.sequence }))).toEqual([]);
  });

  test("are left with `break`, which closes the connection", async () => {
    const session = await newSession();
    const bodies: ReadableStream[] = [];
    const watched = Interlingua.connect({
      baseUrl: server.baseUrl,
      token: TOKEN,
      fetch: async (...request) => {
        let cancelled: () => void;
        const response = await fetch(...request);
        const reader = response.body?.getReader();
        const body = new ReadableStream({
          async pull(controller) {
            const chunk = await reader?.read();
            if (chunk?.done !== false) controller.close();
            else controller.enqueue(chunk.value);
          },
          cancel: () => {
            cancelled();
            return reader?.cancel();
          },
        });
        const closed = new Promise<void>((resolve) => (cancelled = resolve));
        bodies.push(Object.assign(body, { closed }));
        return new Response(body, response);
      },
    });
    for await (const event of watched.session(session.id).events()) {
      expect(event.type).toBe("session.started");
      break;
    }
    expect(bodies).toHaveLength(1);
    await (bodies[0] as unknown as { closed: Promise<void> }).closed;
  });

  test("end with the reason of an aborted signal", async () => {
    const session = await newSession();
    const controller = new AbortController();
    const reason = new Error("enough");
    const following = collect(session.events({ signal: controller.signal }));
    controller.abort(reason);
    await expect(following).rejects.toBe(reason);
  });
});

describe("history", () => {
  let session: Session;
  beforeAll(async () => {
    session = await newSession();
    await session.send("markdown");
  });

  test("is awaited for one page", async () => {
    const page = await session.history({ limit: 5 });
    expect(page.events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5]);
    expect(page.hasMore).toBe(true);
  });

  test("is iterated for all pages", async () => {
    const pages = [];
    for await (const page of session.history({ after: 1, limit: 4 })) pages.push(page.events);
    const sequences = pages.flat().map(({ sequence }) => sequence);
    expect(sequences).toEqual(sequences.map((_, index) => 2 + index));
    expect(pages.slice(0, -1).every((page) => page.length === 4)).toBe(true);
    expect(pages.flat().at(-1)?.type).toBe("turn.ended");
  });
});
