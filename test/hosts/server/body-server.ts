/** A server whose application reads bodies, in a process of its own: `node body-server.ts FOLDER`. It prints its port, and ends with its input. */
import { DEFAULT_SERVER_LIMITS } from "../../../src/config/limits/server-limits.ts";
import { startNodeServer } from "../../../src/hosts/node/server/node-server.ts";
import { keepSelfSigned } from "../../../src/hosts/node/tls/tls.ts";

const server = await startNodeServer({
  listen: { host: "127.0.0.1", port: 0 },
  tls: await keepSelfSigned(process.argv[2]!, "localhost", Date.now()),
  fetch: async (request) => new Response(await request.text()),
  limits: DEFAULT_SERVER_LIMITS,
});
console.log(server.address.port);
process.stdin.resume().on("end", () => process.exit());
