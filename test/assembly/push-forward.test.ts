import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { createPushForward, type PushForwardParts, sendOverHttp } from "../../src/assembly/push-forward.ts";
import { authorityOf, sha256 } from "../access/authorities.ts";
import { makeRequest } from "../conformance/http-case.ts";
import { pushRequest, refusal, type Sent } from "../conformance/push-client.ts";

type Answer = () => Response | Promise<Response>;

/** The push API in front of a primary. */
function open(send: PushForwardParts["send"], more: Partial<PushForwardParts> = {}) {
  const logged: { line: string; fields: unknown }[] = [];
  const seen = { changes: 0 };
  const routes = createPushForward({
    send,
    unreachable: { code: "PRIMARY_UNREACHABLE", message: "no answer" },
    onChange: () => seen.changes++,
    log: (level, event, message, fields) => logged.push({ line: `${level} ${event} ${message}`, fields }),
    ...more,
  });
  const app = new Hono().route("/api/v1/clusters", routes);
  const push = async (method: string, path: string, sent?: Sent) =>
    app.fetch(makeRequest(pushRequest(method, path, sent)));
  return { push, seen, logged };
}

describe("pushes in front of a Worker's object", () => {
  const authority = authorityOf([
    { clusterId: "west", tokenSha256: sha256("west-token") },
    { clusterId: "east.eu", tokenSha256: sha256("east-token") },
  ]);

  function openObject(answer: Answer) {
    const forwarded: Request[] = [];
    const send = async (request: Request) => {
      forwarded.push(request);
      return answer();
    };
    return { ...open(send, { authority }), forwarded };
  }

  it.each([
    ["PUT", "west/snapshot?leaseSeconds=30", 200, 1],
    ["PATCH", "west/snapshot", 200, 1],
    ["DELETE", "west", 204, 1],
    ["PATCH", "west/snapshot", 409, 0],
    ["POST", "west/lease", 200, 0],
    ["GET", "west", 200, 0],
    ["PUT", "west/nothing", 404, 0],
  ])(
    "%s %s is handed on as it is, and the answer %i makes the isolate look for %i changes",
    async (method, path, status, changes) => {
      const { push, seen, forwarded } = openObject(() => new Response(null, { status }));
      const sent = { headers: { "x-kept": "yes" }, ...(method === "PUT" && { body: "{}" }) };
      expect((await push(method, path, sent)).status).toBe(status);
      expect(seen.changes).toBe(changes);
      const [request] = forwarded;
      expect(`${request!.method} ${request!.url}`).toBe(
        `${method} https://gateway.example/api/v1/clusters/${path}`,
      );
      const fields = { authorization: "Bearer west-token", "x-kept": "yes" };
      expect(Object.fromEntries(request!.headers)).toMatchObject(fields);
      if (method === "PUT") expect(await request!.text()).toBe("{}");
    },
  );

  it.each([
    ["POST", "west/anything/else", null, 401, "TOKEN_REQUIRED"],
    ["GET", "west", "stranger", 401, "UNKNOWN_TOKEN"],
    ["DELETE", "east.eu", "west-token", 403, "OTHER_CLUSTER"],
  ])("%s %s with %s never reaches it: %i %s", async (method, path, token, status, code) => {
    const { push, forwarded } = openObject(() => new Response());
    expect(await refusal(push(method, path, { token }))).toMatchObject({ status, code });
    expect(forwarded).toEqual([]);
  });
});

describe("pushes to a primary over HTTP", () => {
  function openPrimary(answer: Answer = () => Response.json({}), primaryUrl = "https://primary.example") {
    const forwarded: { url: string; request: RequestInit; body: string }[] = [];
    const fetch = async (url: string, request: RequestInit) => {
      const body = await new Response(request.body ?? null).text();
      forwarded.push({ url, request, body });
      return answer();
    };
    return { ...open(sendOverHttp({ primaryUrl, sentBytes: 1000, fetch })), forwarded };
  }

  it("hands on method, path, parameters, body, and the fields that count, and hands back status, body and fields", async () => {
    const sent = { status: 429, headers: { "retry-after": "7", "set-cookie": "a=b", via: "1.1 x" } };
    const answer = () => Response.json({ a: 1 }, sent);
    const { push, forwarded } = openPrimary(answer, "https://primary.example/edge/");
    const headers = { cookie: "a=b", "x-forwarded-for": "10.0.0.1", "content-encoding": "gzip" };
    const response = await push("PUT", "west/snapshot?leaseSeconds=60", { body: "zipped", headers });
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
    expect([response.status, await response.json()]).toEqual([429, { a: 1 }]);
    const fields = { "content-type": "application/json", "retry-after": "7" };
    expect(Object.fromEntries(response.headers)).toEqual(fields);
  });

  it("does not forward a body whose declared length is above the limit, and breaks off one that gets too long", async () => {
    const { push, forwarded } = openPrimary();
    let asked = 0;
    const body = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          asked++;
          controller.enqueue(new Uint8Array(100));
        },
      });
    for (const sent of [{ body: "x".repeat(1001) }, { body }]) {
      const refused = await refusal(push("PUT", "west/snapshot", sent));
      expect(refused).toMatchObject({ status: 413, code: "BODY_TOO_LARGE" });
    }
    expect(asked).toBeLessThan(20);
    expect(forwarded).toEqual([]);
  });

  const elsewhere = { status: 301, headers: { location: "https://evil" } };
  it.each<[string, Answer]>([
    ["that does not answer", () => Promise.reject(new TypeError("fetch failed"))],
    ["that leads elsewhere", () => new Response(null, elsewhere)],
  ])("a primary %s is an error to try again after, and logged without the token", async (_, answer) => {
    const { push, logged } = openPrimary(answer);
    const refused = await refusal(push("PUT", "west/snapshot", { body: "{}" }));
    expect(refused).toMatchObject({ status: 502, code: "PRIMARY_UNREACHABLE" });
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(refused.headers.get("location")).toBeNull();
    expect(logged).toMatchObject([{ fields: { clusterId: "west" } }]);
    expect(logged[0]!.line).toMatch(/^error push-not-forwarded .*(?:fetch failed|answered 301)/);
    expect(JSON.stringify(logged)).not.toContain("west-token");
  });
});
