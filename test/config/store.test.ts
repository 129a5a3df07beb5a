import { describe, expect, test } from "vitest";
import { Store } from "../../src/config/store.ts";

describe("the setting store", () => {
  test.each([
    "redis://valkey",
    "redis://valkey:6380/2",
    "rediss://user:secret@[::1]:6379",
    "redis://valkey/",
  ])("takes %s", (url) =>
    expect(Store.parse({ url })).toEqual({ url, prefix: "clusterset-doh", leaseHoldSeconds: 3600 }),
  );

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

  test.each([
    [{ sentinel: { name: "valkey", nodes: ["sentinel-0", "[::1]:26379"] } }],
    [
      {
        sentinel: {
          name: "valkey",
          nodes: ["10.0.0.1:5000"],
          username: "u",
          passwordFile: "f",
          tls: true,
          database: 2,
        },
      },
    ],
    [{ cluster: { nodes: ["node-0:6379", "10.0.0.1"], tls: true } }],
  ])("takes %j", (store) => expect(Store.parse(store)).toMatchObject(store));

  test.each<[object, (string | number)[]]>([
    [{}, []],
    [{ url: "redis://valkey", cluster: { nodes: ["node-0"] } }, []],
    [{ cluster: { nodes: ["node-0"] }, sentinel: { name: "valkey", nodes: ["s"] } }, []],
    [{ url: "redis://valkey", certificateFile: "tls.crt" }, []],
    [{ cluster: { nodes: ["node-0:x"] } }, ["cluster", "nodes", 0]],
    [{ cluster: { nodes: ["redis://node-0"] } }, ["cluster", "nodes", 0]],
    [{ cluster: { nodes: ["user@node-0"] } }, ["cluster", "nodes", 0]],
    [{ sentinel: { name: "valkey", nodes: ["s/0"] } }, ["sentinel", "nodes", 0]],
  ])("rejects %j", (store, path) => {
    expect(Store.safeParse(store).error?.issues[0]?.path).toEqual(path);
  });

  test.each(["", "{a}", "a b", "x".repeat(65)])("rejects the prefix %j", (prefix) => {
    expect(Store.safeParse({ url: "redis://valkey", prefix }).error?.issues[0]?.path).toEqual(["prefix"]);
  });
});
