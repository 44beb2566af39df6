/**
 * Everything for Node: the client, and `Interlingua.start()`.
 *
 * @module
 */
import { Interlingua as Client } from "./interlingua.js";
import { type Server, start, type StartOptions } from "./start.js";

export * from "./client.js";
export { Server, type StartOptions } from "./start.js";

/** A client of one server. */
export class Interlingua extends Client {
  /**
   * Starts a server on loopback and connects to it. Its program is the option `binary`, `$INTERLINGUA_BIN`, the package
   * for this platform, or `interlingua` on the `PATH`.
   */
  static start(options?: StartOptions): Promise<Server> {
    return start(options);
  }
}
