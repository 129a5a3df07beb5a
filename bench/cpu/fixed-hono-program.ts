/** A Hono app that gives every DoH request the same bytes, on the gateway's own Node server. */
import { Hono } from "hono";
import { DEFAULT_SERVER_LIMITS } from "../../src/config/server-limits.ts";
import { startNodeServer } from "../../src/hosts/node/node-server.ts";
import { readFixedAnswer } from "./fixed-answer.ts";

const { port, tls, headers, body } = readFixedAnswer();
const app = new Hono();
const respond = () => new Response(body, { headers });
app.get("/dns-query", respond);
// Without the body there is no DNS query, so it is read here as well.
app.post("/dns-query", (c) => c.req.raw.arrayBuffer().then(respond));
const listen = { host: "127.0.0.1", port };
await startNodeServer({ listen, tls, fetch: app.fetch, limits: DEFAULT_SERVER_LIMITS });
