import { Hono } from "hono";
import { afterEach, describe, expect, it, test, vi } from "vitest";
import { logJson } from "../../src/assembly/log.ts";
import { createPushForward, sendOverHttp } from "../../src/assembly/push-forward.ts";
import { authorityOf, sha256 } from "../access/authorities.ts";
import { makeRequest } from "../conformance/http-case.ts";
import { pushRequest, refusal, type Sent } from "../conformance/push-client.ts";

const CREDENTIALS = authorityOf([
  { clusterId: "west", tokenSha256: sha256("west-token") },
  { clusterId: "east.eu", tokenSha256: sha256("east-token") },
]);

/** The push API of a Worker, and the requests that its object got. */
function openForward(answer = async () => Response.json({ generation: 1 }, { status: 200 })) {
  const forwarded: Request[] = [];
  const seen = { changes: 0 };
  const routes = createPushForward({
    authority: CREDENTIALS,
    send: (request) => {
      forwarded.push(request);
      return answer();
    },
    unreachable: { code: "BUSY", message: "the object could not be reached" },
    onChange: () => seen.changes++,
    log: logJson,
  });
  const app = new Hono().route("/api/v1/clusters", routes);
  const send = (method: string, path: string, token?: string, body?: string) =>
    app.request(`/api/v1/clusters/${path}`, {
      method,
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), "x-kept": "yes" },
      ...(body !== undefined && { body }),
    });
  return { forwarded, seen, send };
}

afterEach(() => vi.restoreAllMocks());

describe("pushes in front of the object", () => {
  test.each([
    ["PUT", "west/snapshot", 200, 1],
    ["PATCH", "west/snapshot", 200, 1],
    ["DELETE", "west", 204, 1],
    ["PATCH", "west/snapshot", 409, 0],
    ["POST", "west/lease", 200, 0],
    ["GET", "west", 200, 0],
  ])(
    "%s %s that is answered with %i makes the isolate look for %i changes",
    async (method, path, status, changes) => {
      const { seen, send } = openForward(async () => new Response(null, { status }));
      await send(method, path, "west-token");
      expect(seen.changes).toBe(changes);
    },
  );

  test.each([
    ["PUT", "west/snapshot", undefined, 401, "TOKEN_REQUIRED"],
    ["PUT", "west/snapshot", "stranger", 401, "UNKNOWN_TOKEN"],
    ["PATCH", "west/snapshot", "east-token", 403, "OTHER_CLUSTER"],
    ["GET", "west", "stranger", 401, "UNKNOWN_TOKEN"],
    ["DELETE", "east.eu", "west-token", 403, "OTHER_CLUSTER"],
    ["POST", "west/anything/else", undefined, 401, "TOKEN_REQUIRED"],
  ])("%s %s with %s never reaches it: %i %s", async (method, path, token, status, code) => {
    const { forwarded, send } = openForward();
    expect(await refusal(send(method, path, token))).toMatchObject({ status, code });
    expect(forwarded).toEqual([]);
  });

  test.each([
    ["PUT", "west/snapshot?leaseSeconds=30", "west-token", "{}"],
    ["POST", "east.eu/lease", "east-token", "{}"],
    ["GET", "west", "west-token", undefined],
    ["DELETE", "west", "west-token", undefined],
    ["PUT", "west/nothing", "west-token", "{}"],
  ])("%s %s is handed on as it is", async (method, path, token, body) => {
    const { forwarded, send } = openForward();
    const response = await send(method, path, token, body);
    expect(await response.json()).toEqual({ generation: 1 });
    const [request] = forwarded;
    expect(request?.method).toBe(method);
    expect(request?.url).toMatch(new RegExp(`/api/v1/clusters/${path.replace("?", "\\?")}$`));
    expect(Object.fromEntries(request!.headers)).toMatchObject({
      authorization: `Bearer ${token}`,
      "x-kept": "yes",
    });
    if (body !== undefined) expect(await request?.text()).toBe(body);
  });

  test("an object that cannot be reached is a 503 to try again after, and is logged without the token", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => {});
    const { send } = openForward(() => Promise.reject(new Error("the object is overloaded")));
    const { status, code, headers } = await refusal(send("PUT", "west/snapshot", "west-token", "{}"));
    expect([status, code, headers.get("retry-after")]).toEqual([503, "BUSY", "5"]);
    const [line] = logged.mock.calls.flat();
    expect(JSON.parse(line)).toMatchObject({ event: "push-not-forwarded", clusterId: "west" });
    expect(line).toContain("overloaded");
    expect(line).not.toContain("west-token");
  });
});

describe("pushes to a primary over HTTP", () => {
  interface Forwarded {
    readonly url: string;
    readonly request: RequestInit;
    readonly body: string;
  }

  /** A primary that answers everything alike, or fails. */
  function open(answer: () => Response = () => Response.json({}), primaryUrl = "https://primary.example") {
    const forwarded: Forwarded[] = [];
    const errors: string[] = [];
    const routes = createPushForward({
      send: sendOverHttp({
        primaryUrl,
        sentBytes: 1000,
        fetch: async (url, request) => {
          const body = await new Response(request.body ?? null).text();
          forwarded.push({ url, request, body });
          return answer();
        },
      }),
      unreachable: { code: "PRIMARY_UNREACHABLE", message: "no answer" },
      onChange: () => {},
      log: (level, event) => errors.push(`${level} ${event}`),
    });
    const app = new Hono().route("/api/v1/clusters", routes);
    const send = async (method: string, path: string, sent?: Sent) =>
      app.fetch(makeRequest(pushRequest(method, path, sent)));
    return { send, forwarded, errors };
  }

  it("hands on method, path, parameters, body, and the fields that count", async () => {
    const { send, forwarded } = open(undefined, "https://primary.example/edge/");
    const headers = { cookie: "a=b", "x-forwarded-for": "10.0.0.1", "content-encoding": "gzip" };
    await send("PUT", "west/snapshot?leaseSeconds=60", { body: "zipped", headers });
    expect(forwarded[0]).toMatchObject({
      url: "https://primary.example/edge/api/v1/clusters/west/snapshot?leaseSeconds=60",
      body: "zipped",
      request: { method: "PUT", redirect: "manual" },
    });
    expect(forwarded[0]!.request.headers).toEqual({
      "accept-encoding": "identity",
      authorization: "Bearer west-token",
      "content-encoding": "gzip",
      "content-type": "application/x-ndjson",
    });
  });

  it("hands back status, body, and the fields that count", async () => {
    const { send } = open(() =>
      Response.json(
        { a: 1 },
        { status: 429, headers: { "retry-after": "7", "set-cookie": "a=b", via: "1.1 x" } },
      ),
    );
    const response = await send("GET", "west");
    expect(response.status).toBe(429);
    expect(await response.json()).toEqual({ a: 1 });
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "application/json",
      "retry-after": "7",
    });
  });

  it("does not forward a body whose declared length is above the limit", async () => {
    const { send, forwarded } = open();
    const refused = await refusal(send("PUT", "west/snapshot", { body: "x".repeat(1001) }));
    expect(refused).toMatchObject({ status: 413, code: "BODY_TOO_LARGE" });
    expect(forwarded).toEqual([]);
  });

  it("breaks off a body that gets too long", async () => {
    const { send, forwarded } = open();
    let asked = 0;
    const body = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          asked++;
          controller.enqueue(new Uint8Array(100));
        },
      });
    const refused = await refusal(send("PUT", "west/snapshot", { body }));
    expect(refused).toMatchObject({ status: 413, code: "BODY_TOO_LARGE" });
    expect(asked).toBeLessThan(20);
    expect(forwarded).toEqual([]);
  });

  it.each([
    ["that does not answer", () => Promise.reject(new TypeError("fetch failed"))],
    [
      "that leads elsewhere",
      () => new Response(null, { status: 301, headers: { location: "https://evil" } }),
    ],
  ])("a primary %s is a 502, and logged", async (_, answer) => {
    const { send, errors } = open(answer as () => Response);
    const refused = await refusal(send("PUT", "west/snapshot", { body: "{}" }));
    expect(refused).toMatchObject({ status: 502, code: "PRIMARY_UNREACHABLE" });
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(refused.headers.get("location")).toBeNull();
    expect(errors).toEqual(["error push-not-forwarded"]);
  });
});
