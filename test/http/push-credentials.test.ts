import { describe, expect, test } from "vitest";
import { createCredentials } from "../../src/http/credentials.ts";
import { shopSnapshot } from "../snapshot/worlds.ts";
import { acknowledged, openPushApi, refusal, sha256 } from "./push-api.ts";

describe("credentials", () => {
  test.each([
    ["no token", null, 401, "TOKEN_REQUIRED"],
    ["an unknown token", "guess", 401, "UNKNOWN_TOKEN"],
    ["the digest of a token", sha256("west-token"), 401, "UNKNOWN_TOKEN"],
    ["an empty token", "", 401, "TOKEN_REQUIRED"],
    ["the token of another cluster", "east-token", 403, "OTHER_CLUSTER"],
  ])("%s", async (_, token, status, code) => {
    const { send, put } = await openPushApi();
    await acknowledged(put());
    const body = JSON.stringify(shopSnapshot("west"));
    for (const request of [
      () => send("PUT", "west/snapshot", { token, body }),
      () => send("PATCH", "west/snapshot", { token, body: "{}" }),
      () => send("POST", "west/lease", { token, body: "{}" }),
      () => send("DELETE", "west", { token }),
      () => send("GET", "west", { token }),
    ]) {
      const refused = await refusal(request());
      expect(refused).toMatchObject({ status, code });
      expect(refused.headers.get("www-authenticate") !== null).toBe(status === 401);
    }
    expect((await send("GET", "west")).status).toBe(200);
  });

  test("two tokens of one cluster are valid at the same time, in any case of the scheme", async () => {
    const { put } = await openPushApi();
    await acknowledged(put());
    await acknowledged(put(undefined, { token: "west-next-token" }));
    await acknowledged(put(undefined, { token: null, headers: { authorization: "bearer west-token" } }));
  });

  test("a basic credential is no bearer token", async () => {
    const { put } = await openPushApi();
    const headers = { authorization: `Basic ${btoa("west:west-token")}` };
    expect(await refusal(put(undefined, { token: null, headers }))).toMatchObject({ code: "TOKEN_REQUIRED" });
  });

  test("are refused where the digest is none", () => {
    expect(() => createCredentials([{ clusterId: "west", tokenSha256: "west-token" }])).toThrow(
      /"west".*64 hex/,
    );
  });
});
