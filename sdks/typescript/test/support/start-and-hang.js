// A program that starts a server and an agent that hangs, prints their process ids, and does nothing until it is killed.
import process from "node:process";
import { Interlingua } from "../../dist/index.js";

const server = await Interlingua.start({ dataDir: process.argv[2], args: ["--mock-scenario", process.argv[3]] });
const session = await server.createSession({ agent: "mock" });
const turn = session.send("hang");
turn.catch(() => {});
process.stdout.write(`${JSON.stringify({ server: server.pid, baseUrl: server.baseUrl })}\n`);
setInterval(() => {}, 1000);
