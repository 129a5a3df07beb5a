import { decode } from "dns-packet";
import { beforeEach, describe, expect, it } from "vitest";
import { NAME } from "../../conformance/cases/doh.ts";
import { optRecord } from "../../dns/opt-record.ts";
import { cluster, FakeGateway, NOW } from "../fake-gateway.ts";
import { openApp } from "../open-app.ts";

let gateway: FakeGateway;
let app: ReturnType<typeof openApp>;

beforeEach(() => {
  gateway = new FakeGateway();
  app = openApp({ gateway });
});

const get = (path: string, accept?: string) =>
  app.request(path, accept === undefined ? {} : { headers: { accept } });
const asked = () => decode(Buffer.from(gateway.asked.at(-1)!.query));

describe("the JSON form", () => {
  it("has the response code and the Extended DNS Error (RFC 8914)", async () => {
    gateway.reply = {
      rcode: 2,
      freshness: 0,
      outcome: "servfail",
      additionals: [optRecord([{ code: 15, data: Buffer.from("\x00\x0enot synced") }])],
    };
    const response = await get(`/resolve?name=${NAME}`);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toMatchObject({
      Status: 2,
      Comment: expect.stringMatching(/^Extended DNS Error 14 \(Not Ready\): not synced; seen from outside/),
    });
  });

  it("names silent clusters, oldest first, and summarizes many", async () => {
    gateway.state = {
      ...gateway.state,
      clusters: [
        cluster("cluster-a"),
        cluster("cluster-b", { live: false, renewedAt: NOW - 95_000, expiresAt: NOW - 35_000 }),
        ...["c", "d", "e", "f"].map((id) => cluster(id, { renewedAt: NOW })),
      ],
    };
    const answer = (await (await get(`/clusters/cluster-a/resolve?name=${NAME}`)).json()) as {
      Comment: string;
    };
    expect(answer.Comment).toBe(
      "seen from cluster-a; 5 of 6 clusters live; cluster-b silent for 95 s, withdrawn; cluster-a last seen 3 s ago; " +
        "c last seen 0 s ago; d last seen 0 s ago; e last seen 0 s ago; the others more recently",
    );
  });

  it("says of a cluster that has pushed, and is not in the answers yet, that it has pushed", async () => {
    const pushed = cluster("cluster-b", { live: false, renewedAt: NOW - 2_000 });
    gateway.state = { ...gateway.state, clusters: [pushed] };
    expect(await (await get(`/resolve?name=${NAME}`)).json()).toMatchObject({
      Comment: "seen from outside; 0 of 1 cluster live; cluster-b pushed 2 s ago, not in the answers yet",
    });
  });
});

describe("parameters", () => {
  it("sets CD, DO, RD, ID 0 and the largest payload size", async () => {
    await get(`/resolve?name=${NAME}&cd=1&do=true`);
    expect(asked()).toMatchObject({ id: 0, flag_cd: true, flag_rd: true });
    expect(asked().additionals).toMatchObject([
      { type: "OPT", udpPayloadSize: 65535, flag_do: true, ednsVersion: 0 },
    ]);
    await get(`/resolve?name=${NAME}&cd=false&do=`);
    expect(asked()).toMatchObject({ flag_cd: false });
    expect(asked().additionals).toMatchObject([{ type: "OPT", flag_do: false }]);
  });
});
