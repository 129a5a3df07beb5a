import { gzipSync } from "node:zlib";
import { expect } from "vitest";
import { ClusterResponse } from "../../../src/http/openapi/schemas.ts";
import { headerLine, patchBody, patchPath, sealed, snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { WRONG_REPORTS } from "../../snapshot/wrong-reports.ts";
import { acknowledged, type PushApi, refusal } from "../push-client.ts";
import { streamed } from "./doh.ts";

/** A sequence of requests to a gateway without snapshots of "west" and "east.eu". */
export interface PushScenario {
  readonly section: string;
  readonly title: string;
  run(api: PushApi): Promise<void>;
}

const DOCUMENT = "docs/reference/push-api.md";

/** What a cluster gets as its status, by default "west". */
async function statusOf({ send }: PushApi, clusterId = "west", token = "west-token") {
  return ClusterResponse.strict().parse(await (await send("GET", clusterId, { token })).json());
}

const scenario = (section: string, title: string, run: PushScenario["run"]): PushScenario => ({
  section,
  title,
  run,
});

/** The requests of workers to the push API. */
export const pushScenarios: readonly PushScenario[] = [
  scenario(
    DOCUMENT,
    "accepts a full snapshot, a delta, a renewal, a status request and leaving",
    async ({ send, put }) => {
      const first = await acknowledged(put());
      expect(first.clusterId).toBe("west");
      const patch = { namespaces: { more: {} }, exports: { "shop/gone": null } };
      const body = patchBody("west", patch);
      const second = await acknowledged(
        send("PATCH", `${patchPath("west", first.generation)}&leaseSeconds=120`, { body }),
      );
      expect(second.generation).toBeGreaterThan(first.generation);
      expect(second.expiresAt - Date.now()).toBeGreaterThan(110_000);

      const renewal = JSON.stringify({ generation: second.generation });
      const third = await acknowledged(send("POST", "west/lease?leaseSeconds=300", { body: renewal }));
      expect(third).toMatchObject({ generation: second.generation });
      expect(third.expiresAt).toBeGreaterThan(second.expiresAt);

      const status = await send("GET", "west");
      expect(status.headers.get("cache-control")).toBe("no-store");
      const described = { clusterId: "west", live: true, exports: 1, generation: second.generation };
      expect(ClusterResponse.strict().parse(await status.json())).toMatchObject(described);
      expect((await send("HEAD", "west")).status).toBe(200);

      expect((await send("DELETE", "west")).status).toBe(204);
      expect((await send("DELETE", "west")).status).toBe(204);
      expect(await refusal(send("GET", "west"))).toMatchObject({ status: 404, code: "UNKNOWN_CLUSTER" });
    },
  ),
  scenario(
    `${DOCUMENT}, Instances`,
    "the instance that holds the lease keeps it, and the other one is rejected until it left",
    async (api) => {
      const { send } = api;
      const body = snapshotBody(shopSnapshot("west"));
      const put = (query = "") => send("PUT", `west/snapshot${query}`, { body });
      const { generation } = await acknowledged(put("?instance=one"));
      const renewal = JSON.stringify({ generation });
      const patch = patchBody("west", { namespaces: { more: {} } });
      for (const request of [
        () => put("?instance=two"),
        () => send("PATCH", `${patchPath("west", generation)}&instance=two`, { body: patch }),
        () => send("POST", "west/lease?instance=two", { body: renewal }),
        () => send("DELETE", "west?instance=two"),
      ])
        expect(await refusal(request())).toMatchObject({
          status: 409,
          code: "OTHER_INSTANCE",
          message: expect.stringMatching(/instance one holds the lease .*this is instance two/),
        });
      expect(await statusOf(api)).toMatchObject({
        generation,
        degraded: [{ reason: "OTHER_INSTANCE" }],
        findings: [{ reason: "OtherInstance", kind: "Cluster", name: "west" }],
      });
      await acknowledged(send("POST", "west/lease?instance=one", { body: renewal }));
      await acknowledged(put());
      expect(await refusal(put("?instance=two"))).toMatchObject({ code: "OTHER_INSTANCE" });
      expect((await send("DELETE", "west?instance=one")).status).toBe(204);
      await acknowledged(put("?instance=two"));
    },
  ),
  scenario(
    `${DOCUMENT}, GET on the cluster`,
    "a status counts the conflicts and findings of its cluster, and of no other, and shows 100 of each",
    async (api) => {
      const finding = {
        reason: "NoService",
        kind: "ServiceExport",
        namespace: "shop",
        message: "no Service",
      };
      const names = Array.from({ length: 101 }, (_, index) => `gone-${index}`);
      const findings = Object.fromEntries(names.map((name) => [name, { ...finding, name }]));
      await acknowledged(api.put({ ...shopSnapshot("west"), findings }));
      const east = shopSnapshot("east.eu");
      const ports = [{ name: "http", protocol: "TCP", port: 81 }];
      const exported = {
        ...east.exports["shop/web"]!,
        ports,
        exportedAt: "2025-01-01T00:00:00Z",
        endpoints: {},
      };
      const body = snapshotBody({ ...east, exports: { "shop/web": exported } });
      await acknowledged(api.send("PUT", "east.eu/snapshot", { token: "east-token", body }));
      const west = await statusOf(api);
      expect(west).toMatchObject({
        findingCount: 101,
        conflictCount: 1,
        conflicts: [{ winner: "west", disagree: ["east.eu"] }],
      });
      expect(west.findings).toHaveLength(100);
      expect(west.findings![0]).toEqual({ ...finding, name: "gone-0", clusterId: "west" });
      expect(await statusOf(api, "east.eu", "east-token")).toMatchObject({
        findingCount: 0,
        findings: [],
        conflictCount: 1,
        conflicts: west.conflicts,
      });
    },
  ),
  scenario(
    `${DOCUMENT}, Generations`,
    "409 has the current generation, and a full snapshot succeeds",
    async ({ send, put, patch }) => {
      const { generation } = await acknowledged(put());
      const stale = { status: 409, code: "GENERATION_MISMATCH", currentGeneration: generation };
      expect(await refusal(patch(1, {}))).toMatchObject(stale);
      const renewal = JSON.stringify({ generation: 1 });
      expect(await refusal(send("POST", "west/lease", { body: renewal }))).toMatchObject(stale);
      expect((await acknowledged(put())).generation).toBeGreaterThan(generation);
    },
  ),
  scenario(
    `${DOCUMENT}, Generations`,
    "a full snapshot and a leave that come after a newer one change nothing",
    async (api) => {
      const { send, put } = api;
      const first = await acknowledged(put());
      const { generation } = await acknowledged(put());
      const late = { status: 409, code: "GENERATION_MISMATCH", currentGeneration: generation };
      const body = snapshotBody(shopSnapshot("west", 50));
      const after = (known: number) => send("PUT", `west/snapshot?after=${known}`, { body });
      expect(await refusal(after(first.generation))).toMatchObject(late);
      expect(await refusal(send("DELETE", `west?after=${first.generation}`))).toMatchObject(late);
      expect((await statusOf(api)).generation).toBe(generation);
      const next = await acknowledged(after(generation));
      expect(next.generation).toBeGreaterThan(generation);
      expect((await send("DELETE", `west?after=${next.generation}`)).status).toBe(204);
      expect((await send("DELETE", `west?after=${next.generation}`)).status).toBe(204);
    },
  ),
  scenario(
    `${DOCUMENT}, Degraded workers`,
    "a status has what the last request reported of its worker, and a rejected report changes nothing",
    async (api) => {
      const { send, put } = api;
      const degradedOf = async (...cluster: string[]) => {
        const { degraded } = await statusOf(api, ...cluster);
        return degraded?.map(({ since, ...rest }) => ({ ...rest, minutes: (Date.now() - since) / 60_000 }));
      };
      const about = (minutes: number) => expect.closeTo(minutes, 0);
      const report = [
        { reason: "API_UNREACHABLE", seconds: 240 },
        { reason: "RBAC_FORBIDDEN", seconds: 3600, subject: "services", count: 2 },
      ];
      const body = sealed(headerLine("west", { degraded: report }), '["namespaces","shop",{}]');
      const { generation } = await acknowledged(put(undefined, { body }));
      const ofEast = { token: "east-token", body: snapshotBody(shopSnapshot("east.eu")) };
      await acknowledged(send("PUT", "east.eu/snapshot", ofEast));
      expect(await degradedOf()).toEqual([
        { reason: "API_UNREACHABLE", minutes: about(4) },
        { reason: "RBAC_FORBIDDEN", minutes: about(60), subject: "services", count: 2 },
      ]);
      expect(await degradedOf("east.eu", "east-token")).toBeUndefined();

      const renew = (degraded?: unknown) =>
        send("POST", "west/lease", { body: JSON.stringify({ generation, degraded }) });
      await acknowledged(renew(report.slice(0, 1)));
      expect(await degradedOf()).toEqual([{ reason: "API_UNREACHABLE", minutes: about(4) }]);
      for (const wrong of Object.values(WRONG_REPORTS))
        expect(await refusal(renew(wrong))).toMatchObject({ status: 422, code: "INVALID_SNAPSHOT" });
      expect(await degradedOf()).toHaveLength(1);
      await acknowledged(renew());
      expect(await degradedOf()).toBeUndefined();

      const patched = sealed(headerLine("west", { degraded: report }), '["namespaces","more",{}]');
      await acknowledged(send("PATCH", patchPath("west", generation), { body: patched }));
      expect(await degradedOf()).toHaveLength(2);
      await acknowledged(put());
      expect(await degradedOf()).toBeUndefined();
    },
  ),
  scenario(
    `${DOCUMENT}, Errors`,
    "a delta to an invalid snapshot is rejected with the field, and loses nothing",
    async (api) => {
      const { generation } = await acknowledged(api.put());
      for (const [line, path] of [
        ['["exports","shop/web",{"headless":"yes"}]', 'exports["shop/web"].headless'],
        ['["exports","a/b",{"__proto__":{"exports":{}}}]', 'exports["a/b"].__proto__'],
        ['["exports","a/b",{"endpoints":{"__proto__":{}}}]', 'exports["a/b"].endpoints.__proto__'],
      ] as const) {
        const body = sealed(headerLine("west"), line);
        expect(await refusal(api.send("PATCH", patchPath("west", generation), { body }))).toMatchObject({
          status: 422,
          code: "INVALID_SNAPSHOT",
          details: { issues: [{ path }] },
        });
      }
      expect(await statusOf(api)).toMatchObject({ generation, exports: 1, live: true });
    },
  ),
  scenario(DOCUMENT, "bodies may be compressed by gzip", async ({ send, put }) => {
    const headers = { "content-encoding": "gzip" };
    const gzip = (body: Uint8Array) => new Uint8Array(gzipSync(body));
    const { generation } = await acknowledged(
      put(undefined, { body: gzip(snapshotBody(shopSnapshot("west", 50))), headers }),
    );
    const body = gzip(patchBody("west", { exports: { "shop/web": null } }));
    await acknowledged(send("PATCH", patchPath("west", generation), { body, headers }));
    expect(await (await send("GET", "west")).json()).toMatchObject({ exports: 0 });
  }),
  scenario(DOCUMENT, "a body may lack a Content-Length", async ({ put }) => {
    await acknowledged(put(undefined, { body: streamed(snapshotBody(shopSnapshot("west", 50))) }));
  }),
  scenario(
    `${DOCUMENT}, Tokens`,
    "two tokens of one cluster are valid at the same time, in any case of the scheme",
    async ({ put }) => {
      await acknowledged(put());
      await acknowledged(put(undefined, { token: "west-next-token" }));
      await acknowledged(put(undefined, { token: null, headers: { authorization: "bearer west-token" } }));
    },
  ),
  scenario("RFC 6750 section 5.3", "no rejection repeats the token", async ({ send }) => {
    for (const token of ["very-secret-guess", "east-token"]) {
      const response = await send("PUT", "west/snapshot", { token, body: "{}" });
      expect(response.ok).toBe(false);
      expect(await response.text()).not.toContain(token);
    }
  }),
];
