/** A Hono app that gives every DoH request the same bytes, on Hono's own adapter for Node. */
import { createSecureServer } from "node:http2";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { readFixedAnswer } from "./fixed-answer.ts";

const { port, tls, headers, body } = readFixedAnswer();
const app = new Hono();
const respond = () => new Response(body, { headers });
app.get("/dns-query", respond);
// Without the body there is no DNS query, so it is read here as well.
app.post("/dns-query", (c) => c.req.raw.arrayBuffer().then(respond));
const serverOptions = { cert: tls.cert, key: tls.key };
createAdaptorServer({ fetch: app.fetch, createServer: createSecureServer, serverOptions }).listen(
  port,
  "127.0.0.1",
);
