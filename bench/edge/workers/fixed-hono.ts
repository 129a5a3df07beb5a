/** A Hono app that gives every DoH request the same bytes. */
import { Hono } from "hono";
import { body, headers } from "./fixed-answer.ts";

const app = new Hono();
const respond = () => new Response(body, { headers });
app.get("/dns-query", respond);
app.get("/started", respond);
app.post("/dns-query", (c) => c.req.raw.arrayBuffer().then(respond));

export default app;
