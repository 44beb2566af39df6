// A program that starts a server and an agent that hangs, prints the server's process id, and does nothing until it is killed.
import process from "node:process";
import { Interlingua } from "../../dist/index.js";

const [dataDir, agent] = process.argv.slice(2);
const server = await Interlingua.start({ dataDir, args: ["--acp-agent", `hang=${agent}`] });
const session = await server.createSession({ agent: "hang" });
const turn = session.send("work");
turn.catch(() => {});
process.stdout.write(`${JSON.stringify({ server: server.pid })}\n`);
setInterval(() => {}, 1000);
