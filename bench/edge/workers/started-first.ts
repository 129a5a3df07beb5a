/** Tells the start of an isolate from its first query: answers `/started` by itself and hands on everything else. */
// The Worker that is measured; it is not bundled again.
import worker from "../../../src/hosts/workers/worker.ts";

export default {
  fetch: (request, environment, context) =>
    request.url.endsWith("/started") ? new Response("started") : worker.fetch(request, environment, context),
} satisfies typeof worker;

export * from "../../../src/hosts/workers/worker.ts";
