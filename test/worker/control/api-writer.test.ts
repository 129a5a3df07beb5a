import type { RequestListener } from "node:http";
import { Agent } from "undici";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ApiConnection } from "../../../src/worker/api-connection.ts";
import { ApiServer, MOST_ATTEMPTS } from "../../../src/worker/api-server.ts";
import { ApiWriter } from "../../../src/worker/control/api-writer.ts";
import type { ManagedObject } from "../../../src/worker/control/objects.ts";
import { HttpDouble } from "../http-double.ts";

interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: object;
}

/** What the API server got, as `PATCH /path`, and its bodies. */
let seen: string[];
let bodies: Partial<ManagedObject>[];
let reply: (path: string) => Reply;
let api: ApiServer;
let writer: ApiWriter;
const server = new (class extends HttpDouble {
  readonly listener: RequestListener = async (request, response) => {
    const text = (await request.toArray()).join("");
    seen.push(`${request.method} ${request.url!.split("?")[0]}`);
    bodies.push(text === "" ? {} : JSON.parse(text));
    const { status, headers = {}, body = {} } = reply(request.url!);
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  };
})();
const LIMITS = { perSecond: 20, burst: 3 };
const signal = new AbortController().signal;

beforeEach(async () => {
  seen = [];
  bodies = [];
  waits.length = 0;
  reply = () => ({ status: 200 });
  await server.start();
  const connection = { url: server.url, open: async () => ({ dispatcher: new Agent(), rejected: () => {} }) };
  api = new ApiServer(connection as unknown as ApiConnection);
  writer = new ApiWriter(api, LIMITS);
});

afterEach(async () => {
  api.close();
  await server.stop();
});

const object = (kind: string, name: string, apiVersion = "v1"): ManagedObject => ({
  apiVersion,
  kind,
  metadata: { namespace: "shop", name },
});
const lease = object("Lease", "leader", "coordination.k8s.io/v1");

const db = object("Service", "db");
const event = object("Event", "one", "events.k8s.io/v1");

/** Pauses of at least a second, in seconds: they end at once here. */
const waits: number[] = [];
vi.mock("../../../src/worker/pacing.ts", async (importOriginal) => {
  const original = await importOriginal<typeof import("../../../src/worker/pacing.ts")>();
  const pause: typeof original.pause = (milliseconds, stop) => {
    if (milliseconds < 1_000) return original.pause(milliseconds, stop);
    waits.push(Math.ceil(milliseconds / 1_000));
    return Promise.resolve(true);
  };
  return { ...original, pause };
});

test("a new object is applied with a version that no object has, so that one of that name is not touched", async () => {
  reply = () => ({ status: 409, body: { message: "the object has been modified" } });
  expect(await writer.applyNew(db, signal)).toBeUndefined();
  expect(seen).toEqual(["PATCH /api/v1/namespaces/shop/services/db"]);
  expect(bodies[0]!.metadata).toEqual({ namespace: "shop", name: "db", resourceVersion: "1" });
  reply = () => ({ status: 403, body: { message: "forbidden" } });
  await expect(writer.applyNew(db, signal)).rejects.toMatchObject({ status: 403 });
});

test("objects wait for the rate; the Lease and Events do not wait for objects", async () => {
  const writes = Array.from({ length: LIMITS.burst + 10 }, (_, index) =>
    writer.apply(object("Service", `s-${index}`), signal),
  );
  await writer.replace(lease, signal);
  await writer.create(event, signal);
  expect(seen.length).toBeLessThan(writes.length);
  await Promise.all(writes);
  expect(seen).toHaveLength(writes.length + 2);
  const names = seen.flatMap((line) => / .*\/s-(\d+)$/.exec(line)?.[1] ?? []);
  expect(new Set(names).size).toBe(writes.length);
});

test("the error of a rejected watch has what the API server says about it", async () => {
  const message = 'services is forbidden: User "sync" cannot watch resource "services"';
  reply = () => ({ status: 403, body: { kind: "Status", message } });
  await expect(api.watch("/api/v1/services", "1", "application/json", signal)).rejects.toMatchObject({
    status: 403,
    message: `GET /api/v1/services: 403 ${message}`,
  });
});

describe("an API server that asks for time (API priority and fairness)", () => {
  const busy = (seconds: string, status = 429): Reply => ({ status, headers: { "retry-after": seconds } });

  test.each([429, 503])("gets the same write again after %i with Retry-After", async (status) => {
    reply = () => (seen.length < 3 ? busy("0", status) : { status: 200, body: { kind: "Service" } });
    expect(await writer.apply(db, signal)).toEqual({ kind: "Service" });
    expect(seen).toEqual(Array(3).fill("PATCH /api/v1/namespaces/shop/services/db"));
    expect(bodies[2]).toEqual(bodies[0]);
    expect(writer.counts.get("apply Service")).toBe(3);
  });

  test("gets nothing else meanwhile but renewals of the Lease, which it gets again when it asks for that", async () => {
    reply = () => (seen.length === 1 ? busy("7") : { status: 200 });
    await writer.apply(db, signal);
    await writer.create(event, signal);
    expect(waits).toEqual([7, 7]);
    await writer.replace(lease, signal);
    expect(waits).toHaveLength(2);
    seen.length = 0;
    await writer.replace(lease, signal);
    expect([waits, seen.length]).toEqual([[7, 7, 7], 2]);
  });

  test("gets the request for a page of a list again, and none for the pages before it", async () => {
    const pages: string[] = [];
    const [first, second] = [object("Service", "a"), object("Service", "b")];
    const replies = [
      { status: 200, body: { items: [first], metadata: { continue: "next" } } },
      busy("7"),
      { status: 200, body: { items: [second], metadata: { resourceVersion: "7" } } },
    ];
    reply = (path) => {
      pages.push(new URL(path, "http://api").searchParams.get("continue") ?? "");
      return replies[pages.length - 1]!;
    };
    const listed = await api.list("/api/v1/services", "application/json", signal);
    expect(listed).toEqual({ items: [first, second], resourceVersion: "7" });
    expect(pages).toEqual(["", "next", "next"]);
    expect(waits).toEqual([7]);
  });

  test("gets the request for a watch again", async () => {
    reply = () => (seen.length === 1 ? busy("7") : { status: 200 });
    const events = await api.watch("/api/v1/services", "1", "application/json", signal);
    for await (const event of events) expect(event).toEqual({});
    expect([waits, seen.length]).toEqual([[7], 2]);
  });

  test("is waited for no longer than a minute, and gets a request no more than eleven times", async () => {
    reply = () => (seen.length === 1 ? busy("86400") : { status: 200 });
    await writer.apply(db, signal);
    expect(waits).toEqual([60]);
    seen.length = 0;
    reply = () => busy("0");
    await expect(writer.apply(db, signal)).rejects.toMatchObject({ status: 429 });
    expect(seen).toHaveLength(MOST_ATTEMPTS);
  });

  test.each([
    ["429 without Retry-After", { status: 429 }],
    ["429 with a date in it", busy("Wed, 21 Oct 2026 07:28:00 GMT")],
    ["403 with Retry-After", busy("0", 403)],
  ])("is told apart from %s: an error at once", async (_, rejected) => {
    reply = () => rejected;
    await expect(writer.apply(db, signal)).rejects.toMatchObject({ status: rejected.status });
    expect(seen).toHaveLength(1);
  });
});
