import { describe, expect, test } from "vitest";
import { Store } from "../../src/config/store.ts";

describe("the setting store", () => {
  test.each([
    "redis://valkey",
    "redis://valkey:6380/2",
    "rediss://user:secret@[::1]:6379",
    "redis://valkey/",
  ])("takes %s", (url) => expect(Store.parse({ url })).toEqual({ url, prefix: "clusterset-doh" }));

  test.each([
    "http://valkey",
    "valkey:6379",
    "redis://",
    "redis:valkey",
    "redis://valkey/first",
    "redis://valkey/0?protocol=3",
    "redis://valkey/0#there",
  ])("rejects %s", (url) => {
    expect(Store.safeParse({ url }).error?.issues[0]).toMatchObject({
      path: ["url"],
      message: expect.stringContaining("must be redis://HOST"),
    });
  });

  test.each(["", "{a}", "a b", "x".repeat(65)])("rejects the prefix %j", (prefix) => {
    expect(Store.safeParse({ url: "redis://valkey", prefix }).error?.issues[0]?.path).toEqual(["prefix"]);
  });
});
