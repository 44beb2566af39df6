import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FileSystem, Interlingua } from "../src/client.js";
import { SandboxAgent } from "../src/sandbox-agent.js";
import { temporaryFolder, TestServer, TOKEN } from "./support/server.js";

const root = temporaryFolder();
let server: TestServer;
let client: Interlingua;

beforeAll(async () => {
  server = await TestServer.start("--fs", "--fs-root", root);
  client = Interlingua.connect({ baseUrl: server.baseUrl, token: TOKEN });
});
afterAll(() => server.kill());

/** A tar archive with one file. */
function tar(name: string, content: string): Uint8Array<ArrayBuffer> {
  const archive = new Uint8Array(512 + 512 + 1024);
  const put = (offset: number, text: string) => archive.set(new TextEncoder().encode(text), offset);
  put(0, name);
  put(100, "0000644\0");
  put(124, `${content.length.toString(8).padStart(11, "0")}\0`);
  put(136, "00000000000\0");
  put(148, "        ");
  put(156, "0");
  put(257, "ustar\0" + "00");
  const sum = archive.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  put(512, content);
  return archive;
}

async function checkAll(fs: FileSystem, folder: string): Promise<void> {
  expect(await fs.write("a/b.txt", "hello")).toEqual({ path: join(folder, "a/b.txt"), bytesWritten: 5 });
  expect(new TextDecoder().decode(await fs.read("a/b.txt"))).toBe("hello");
  expect(await (await fs.open("a/b.txt")).text()).toBe("hello");
  expect(await fs.stat("a/b.txt")).toMatchObject({ entryType: "file", size: 5 });
  expect(await fs.mkdir("d")).toEqual({ path: join(folder, "d") });
  await fs.move("a/b.txt", "d/c.txt");
  await expect(fs.delete("d")).rejects.toMatchObject({ kind: "invalid_request" });
  expect((await fs.list()).map(({ name }) => name)).toEqual(["a", "d"]);
  await fs.delete("d", { recursive: true });
  expect(await fs.upload(tar("x.txt", "x"), "a")).toEqual({ paths: [join(folder, "a/x.txt")], truncated: false });
  await expect(fs.read("missing")).rejects.toMatchObject({ kind: "not_found", status: 404 });
  await expect(fs.read("../x")).rejects.toMatchObject({ kind: "invalid_request", status: 400 });
  await fs.delete("a", { recursive: true });
}

describe("files", () => {
  test("in the roots of the server and in the directory of a session", async () => {
    await checkAll(client.fs, root);
    const directory = join(root, "session");
    mkdirSync(directory);
    const session = await client.createSession({ agent: "mock", directory });
    await checkAll(session.fs, directory);
  });

  test("a stream of any length is written", async () => {
    const piece = new Uint8Array(1 << 20).fill(7);
    let left = 5;
    const content = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left === 0) controller.close();
        else controller.enqueue(piece);
        left -= 1;
      },
    });
    expect((await client.fs.write("big", content)).bytesWritten).toBe(5 << 20);
    expect(readFileSync(join(root, "big")).every((byte) => byte === 7)).toBe(true);
  });

  test("the methods of sandbox-agent 0.1", async () => {
    const agent = await SandboxAgent.connect({ baseUrl: server.baseUrl, token: TOKEN });
    const directory = temporaryFolder();
    await agent.createSession("old", { agent: "mock", directory });
    const session_id = "old";
    writeFileSync(join(directory, "one.txt"), "one");
    expect((await agent.listFsEntries({ session_id })).map(({ name }) => name)).toEqual(["one.txt"]);
    expect(await agent.writeFsFile({ path: "two.txt", session_id }, "two")).toMatchObject({ bytesWritten: 3 });
    expect(await agent.statFs({ path: "two.txt", session_id })).toMatchObject({ size: 3, entryType: "file" });
    expect(await agent.mkdirFs({ path: "d", session_id })).toEqual({ path: join(directory, "d") });
    const moved = await agent.moveFs({ from: "two.txt", to: "d/two.txt", overwrite: true }, { session_id });
    expect(moved).toEqual({ from: join(directory, "two.txt"), to: join(directory, "d/two.txt") });
    expect(new TextDecoder().decode(await agent.readFsFile({ path: "d/two.txt", session_id }))).toBe("two");
    const uploaded = await agent.uploadFsBatch(tar("x.txt", "x"), { path: "d", session_id });
    expect(uploaded).toEqual({ paths: [join(directory, "d/x.txt")], truncated: false });
    expect(await agent.deleteFsEntry({ path: "d", recursive: true, session_id })).toEqual({ path: join(directory, "d") });
    expect((await agent.listFsEntries()).length).toBeGreaterThan(0);
    await agent.dispose();
  });
});
