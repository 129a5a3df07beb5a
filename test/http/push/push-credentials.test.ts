import { expect, test } from "vitest";
import { authorityOf } from "../../access/authorities.ts";
import { acknowledged } from "../../conformance/push-client.ts";
import { openPushApi, sha256 } from "./push-api.ts";

test("a rejected credential changes nothing of what is held", async () => {
  const { put, send } = await openPushApi();
  const { generation } = await acknowledged(put());
  for (const token of ["guess", sha256("west-token"), "east-token", "", null]) {
    expect((await send("DELETE", "west", { token })).ok).toBe(false);
    expect((await put(undefined, { token })).ok).toBe(false);
  }
  expect(await (await send("GET", "west")).json()).toMatchObject({ generation, live: true });
});

test("credentials are rejected where the digest is malformed", () => {
  expect(() => authorityOf([{ clusterId: "west", tokenSha256: "west-token" }])).toThrow(/64 hex/);
});
