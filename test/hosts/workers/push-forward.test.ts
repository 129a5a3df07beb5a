import { Hono } from "hono";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createPushForward } from "../../../src/hosts/workers/push-forward.ts";

import { authorityOf } from "../../access/authorities.ts";
import { refusal } from "../../conformance/push-client.ts";
import { sha256 } from "../../http/push/push-api.ts";

const CREDENTIALS = authorityOf([
  { clusterId: "west", tokenSha256: sha256("west-token") },
  { clusterId: "east.eu", tokenSha256: sha256("east-token") },
]);

/** The push API of a Worker, and the requests that its object got. */
function openForward(answer = async () => Response.json({ generation: 1 }, { status: 200 })) {
  const forwarded: Request[] = [];
  const seen = { changes: 0 };
  const routes = createPushForward(
    CREDENTIALS,
    (request) => {
      forwarded.push(request);
      return answer();
    },
    () => seen.changes++,
  );
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
