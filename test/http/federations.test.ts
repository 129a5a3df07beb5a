import { Hono } from "hono";
import { expect, test } from "vitest";
import type { StubRegistration } from "../../src/forward/stub-zones.ts";
import { createStubRoutes } from "../../src/http/stubs.ts";
import { LimitCounters } from "../../src/limits/counters.ts";
import { refusal } from "../conformance/push-client.ts";
import { halfBody } from "./push/push-api.ts";

/** `POST /federations/shop`, by a client with a trusted certificate. */
function openFederations() {
  const counters = new LimitCounters();
  const register = async (_: StubRegistration) => true;
  const stubs = { zones: [], register } as never;
  const app = new Hono().route("/federations", createStubRoutes({ stubs, counters }));
  const post = (body: string | ReadableStream) =>
    Promise.resolve(
      app.fetch(
        new Request("https://doh.example/federations/shop", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body,
          duplex: "half",
        } as RequestInit),
        { client: { certificate: "verified" } },
      ),
    );
  return { post, counted: () => [...counters].filter(([, count]) => count > 0) };
}

test("two registrations of one federation that are sent at once are both taken", async () => {
  const { post } = openFederations();
  const bodies = [halfBody(), halfBody()];
  const waiting = bodies.map(({ stream }) => post(stream));
  for (const body of bodies) await body.send(" ".repeat(40 * 1024));
  for (const body of bodies) {
    await body.send('{"nameservers":["192.0.2.1"]}');
    body.end();
  }
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([201, 201]);
});

test("a registration above 64 KiB is rejected, and counts as no limit on pushes", async () => {
  const { post, counted } = openFederations();
  const body = JSON.stringify({ nameservers: ["x".repeat(64 * 1024)] });
  expect(await refusal(post(body))).toMatchObject({ status: 413, code: "BODY_TOO_LARGE" });
  expect(counted()).toEqual([]);
});
