/**
 * Tells the start of an isolate from its first query: answers `/started` by itself and hands on everything
 * else.
 */
import "./object-elsewhere.ts";
// The Worker that is measured; neither it nor the module before it is bundled again.
import worker from "../../../src/hosts/workers/worker.ts";
import { collectGarbage } from "./collect-garbage.ts";

export default {
  fetch(request, environment, context) {
    if (request.url.endsWith("/started")) return new Response("started");
    return collectGarbage(request) ?? worker.fetch(request, environment, context);
  },
} satisfies typeof worker;

export * from "../../../src/hosts/workers/worker.ts";
