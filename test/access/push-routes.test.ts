import { Hono } from "hono";
import { beforeAll, describe, expect, it } from "vitest";
import { createAuthority } from "../../src/access/authority.ts";
import { inlineKeys } from "../../src/access/oidc-keys.ts";
import { createPushRoutes } from "../../src/http/push/push-routes.ts";
import { FakeGateway } from "../http/fake-gateway.ts";
import { sha256 } from "../http/push/push-api.ts";
import { secretsOf } from "./authorities.ts";
import { AUDIENCE, ISSUER, makeKey, NOW, type SigningKey, SUBJECT } from "./issuers.ts";

let east: SigningKey;
let west: SigningKey;
let app: Hono;
beforeAll(async () => {
  [east, west] = await Promise.all([makeKey("e"), makeKey("w")]);
  const untouched = () => Promise.reject(new Error("the gateway must not be reached"));
  const issued = { issuer: ISSUER, audience: AUDIENCE, subjects: [SUBJECT] };
  const authority = createAuthority({
    secrets: secretsOf([
      { clusterId: "east", tokenSha256: sha256("one") },
      { clusterId: "east", tokenSha256: sha256("two") },
      { clusterId: "west", tokenSha256: sha256("west.with.dots") },
    ]),
    oidc: [
      {
        ...issued,
        holder: { credential: "east", clusterId: "east" },
        keys: inlineKeys({ keys: [east.jwk] }),
      },
      {
        ...issued,
        holder: { credential: "west", clusterId: "west" },
        keys: inlineKeys({ keys: [west.jwk] }),
      },
    ],
    clock: () => NOW,
  });
  const status = () => new FakeGateway().status();
  const gateway = { replace: untouched, patch: untouched, renew: untouched, leave: untouched, status };
  app = new Hono().route("/", createPushRoutes({ gateway: gateway as never, authority }));
});

const ROUTES = [
  ["PUT", "/east/snapshot"],
  ["PATCH", "/east/snapshot"],
  ["POST", "/east/lease"],
  ["DELETE", "/east"],
  ["GET", "/east"],
  ["HEAD", "/east"],
] as const;

describe("every route of the push API", () => {
  it.each<[string, () => Promise<string>, number, string]>([
    ["another cluster's token", () => west.token(), 403, "OTHER_CLUSTER"],
    ["another cluster's secret", async () => "west.with.dots", 403, "OTHER_CLUSTER"],
    ["an expired token", () => east.token({ exp: -60 }), 401, "TOKEN_EXPIRED"],
    ["a token for another audience", () => east.token({ aud: "api" }), 401, "WRONG_AUDIENCE"],
    ["a token of another account", () => east.token({ sub: "x" }), 403, "UNKNOWN_SUBJECT"],
    ["a token of another issuer", () => east.token({ iss: "https://x" }), 401, "UNKNOWN_ISSUER"],
    ["an unknown secret", async () => "guess", 401, "UNKNOWN_TOKEN"],
    ["the hash of a secret", async () => sha256("one"), 401, "UNKNOWN_TOKEN"],
  ])("refuses %s, by a reason without it", async (_, make, status, code) => {
    const token = await make();
    for (const [method, path] of ROUTES) {
      const response = await app.request(path, { method, headers: { authorization: `Bearer ${token}` } });
      expect([method, response.status]).toEqual([method, status]);
      expect(response.headers.get("www-authenticate")).toEqual(
        status === 401 ? expect.stringContaining('error="invalid_token"') : null,
      );
      if (method === "HEAD") continue;
      const text = await response.text();
      expect(JSON.parse(text).code).toBe(code);
      expect(text).not.toContain(token.split(".").at(-1));
    }
  });

  it("takes each of a cluster's credentials: two secrets and its own token", async () => {
    for (const token of ["one", "two", await east.token()]) {
      const headers = { authorization: `Bearer ${token}` };
      // A known token: the answer says that the cluster has not pushed.
      expect((await app.request("/east", { headers })).status).toBe(404);
    }
  });
});
