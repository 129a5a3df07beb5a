import { beforeEach, expect, test } from "vitest";
import { createGateway, type EmbeddedGateway } from "../../src/embedding/gateway.ts";
import { statusLines } from "../../src/hosts/commands/status.ts";
import type { StatusReport } from "../../src/http/cluster-state.ts";
import { sha256 } from "../access/authorities.ts";
import { makeRequest } from "../conformance/http-case.ts";
import { exporting } from "../merge/fixtures.ts";
import { LINES_TYPE, snapshotBody } from "../snapshot/lines/push-lines.ts";

/** A token of each cluster is its id. */
const CLUSTERS = ["a", "b", "c"];
const READER = "reader-token";

let gateway: EmbeddedGateway;

beforeEach(async () => {
  gateway = await createGateway({
    settings: {
      access: {
        public: true,
        rules: [{ name: "of-a", bearer: [{ tokenSha256: sha256(READER) }], scope: { clusters: ["a"] } }],
      },
    },
    pushCredentials: CLUSTERS.map((clusterId) => ({ clusterId, tokenSha256: sha256(clusterId) })),
    log: () => {},
  });
  for (const clusterId of ["a", "b"]) await put(clusterId);
});

const send = (method: string, path: string, token: string | null = null, body?: Uint8Array<ArrayBuffer>) => {
  const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
  const headers = { "content-type": LINES_TYPE, accept: "*/*", ...authorization };
  return gateway.fetch(makeRequest({ method, path, headers, ...(body && { body }) }), {});
};
const put = (clusterId: string) =>
  send("PUT", `/api/v1/clusters/${clusterId}/snapshot`, clusterId, snapshotBody(exporting(clusterId)));
const textOf = async (path: string, token?: string) => (await send("GET", path, token)).text();
const status = async (token?: string) => JSON.parse(await textOf("/status", token)) as StatusReport;

test("a cluster that may push and never did is named by status, readiness and pages", async () => {
  expect(await textOf("/readyz")).toBe("ready: 2 of 3 clusters live; c never seen\n");
  for (const path of ["/", "/clusters"])
    expect(await textOf(path)).toMatch(/from 2 of 3 clusters.*<a href="\/clusters\/c"[^>]*>.*never seen/s);
  expect(await textOf("/clusters/c")).toMatch(/never seen.*clusterset-doh sync --cluster-id c/s);
  const report = await status();
  expect(report.neverSeen).toEqual(["c"]);
  expect(statusLines(report)).toContain("c        never seen  -          -              -        -");
  expect(statusLines(report)[0]).toMatch(/^ready: 2 of 3 clusters live/);
});

test.each([false, true])(
  "it is not named any more after it left, though it never came (it pushed: %s)",
  async (pushes) => {
    if (pushes) {
      await put("c");
      expect((await status()).neverSeen).toEqual([]);
      expect(await textOf("/readyz")).toContain("3 of 3 clusters live");
    }
    await send("DELETE", "/api/v1/clusters/c", "c");
    expect((await status()).neverSeen).toEqual([]);
    expect(await textOf("/readyz")).toContain("2 of 2 clusters live");
  },
);

test("clients who may not see a cluster do not learn that it may push", async () => {
  expect(await status(READER)).toMatchObject({ neverSeen: [], clusters: [{ clusterId: "a" }] });
  expect(await textOf("/readyz", READER)).not.toContain("never seen");
});
