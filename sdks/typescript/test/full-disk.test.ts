/** The server on a disk that is really full. Needs Linux and the right to mount a tmpfs in a namespace of its own. */
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Interlingua, InterlinguaError, type UniversalEvent } from "../src/index.js";
import { BINARY, temporaryFolder } from "./support/server.js";

const folder = temporaryFolder();
const disk = join(folder, "disk");
mkdirSync(disk);

/** A script that mounts a small disk, visible only to itself, and then becomes the server. */
const binary = join(folder, "interlingua");
const namespace = ["--mount", "--map-root-user"];
const mount = `mount -t tmpfs -o size=8m none '${disk}'`;
writeFileSync(binary, `#!/bin/sh\nexec unshare ${namespace.join(" ")} sh -c "${mount} && exec '${BINARY}' \\"\\$@\\"" sh "$@"\n`);
chmodSync(binary, 0o755);

const canMount = spawnSync("unshare", [...namespace, "sh", "-c", mount]).status === 0;
if (!canMount) console.warn("skipped: this system does not allow users to mount a disk");

const start = () => Interlingua.start({ binary, dataDir: join(disk, "data") });

describe.skipIf(!canMount)("a full disk", () => {
  test("refuses a message with an error that says what to do, and serves what is stored", { timeout: 60_000 }, async () => {
    await using server = await start();
    const stored = await server.createSession({ agent: "mock" });
    const before: UniversalEvent[] = [];
    for await (const event of stored.send("echo before")) before.push(event);

    // The turn waits for an answer, so that the messages stay in the queue and fill the disk.
    const waiting = await server.createSession({ agent: "mock" });
    for await (const event of waiting.send("permission")) if (event.type === "permission.requested") break;
    const closing = new AbortController();
    const turns = Array.from({ length: 10 }, () => waiting.send("x".repeat(1_000_000), { signal: closing.signal }));
    for (const turn of turns) turn.then(undefined, () => undefined);
    const error = await Promise.race(turns).then(
      () => expect.fail("a message was taken whose turn cannot begin"),
      (reason: unknown) => reason as InterlinguaError,
    );
    closing.abort();
    expect(error).toBeInstanceOf(InterlinguaError);
    expect(error).toMatchObject({ status: 507, kind: "storage_full" });
    expect(error.message).toMatch("free disk space or delete sessions");

    expect(await server.health()).toMatchObject({ status: "ok" });
    const events: UniversalEvent[] = [];
    for await (const page of stored.history()) events.push(...page.events);
    expect(events.slice(-before.length)).toEqual(before);
  });

  test("ends a running turn as failed", { timeout: 60_000 }, async () => {
    await using server = await start();
    const session = await server.createSession({ agent: "mock" });
    const events: UniversalEvent[] = [];
    const turn = session.send("flood 50");
    for await (const event of turn) events.push(event);
    const { status } = await turn;
    expect(status).toBe("failed");
    const failure = events.find((event) => event.type === "error");
    expect(failure?.data).toMatchObject({ message: expect.stringMatching(/full/) });
  });
});
