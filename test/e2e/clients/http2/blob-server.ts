/** Our HTTP/2 server with bodies of any length: `node blob-server.ts FOLDER` prints its port. */
import { createHash } from "node:crypto";
import { startNodeServer } from "../../../../src/hosts/node/server/node-server.ts";
import { keepSelfSigned } from "../../../../src/hosts/node/tls.ts";
import { DEFAULT_SERVER_LIMITS, ownProtection } from "../../../hosts/default-limits.ts";
import { blob } from "./blob.ts";

const server = await startNodeServer({
  listen: { host: "127.0.0.1", port: 0 },
  tls: await keepSelfSigned(process.argv[2]!, "localhost", Date.now()),
  fetch: async (request) => {
    if (request.method === "GET") return new Response(blob(), { headers: { "x-accel-buffering": "no" } });
    const hash = createHash("sha256");
    for await (const part of request.body!) hash.update(part);
    return new Response(hash.digest("hex"));
  },
  limits: DEFAULT_SERVER_LIMITS,
  protection: ownProtection(),
});
console.log(server.port);
process.stdin.resume().on("end", () => process.exit());
