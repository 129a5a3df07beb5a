import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extendedErrors } from "../../../forward/fake-forwarder.ts";
import { eventually, metric, untilLive } from "../../harness/answers.ts";
import { type GatewayProcess, type SyncProcess, startGateway, startSync } from "../../harness/processes.ts";
import type { CoreDns } from "../../servers/coredns.ts";
import { type DnsAnswer, type Query, queryDoh } from "../../servers/dns.ts";
import { run } from "../../servers/run.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";
import { LARGE_TEXT, startResolver } from "./upstream-resolver.ts";

let first: CoreDns;
let second: CoreDns;
const gateways: GatewayProcess[] = [];
const workers: SyncProcess[] = [];

beforeAll(async () => {
  [first, second] = await Promise.all([
    startResolver({ address: "192.0.2.1", doh: true }),
    startResolver({ address: "192.0.2.2" }),
  ]);
});

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await Promise.all([first?.stop(), second?.stop()]);
});

const plain = ({ port }: CoreDns, name: string) => ({ server: `127.0.0.1:${port}`, name });

/** A gateway without any cluster that forwards to these, however long they take: those that are gone refuse. */
async function forwarding(upstreams: readonly unknown[]) {
  const forward = { upstreams, serverMilliseconds: 60_000, totalMilliseconds: 60_000 };
  const gateway = await startGateway({
    clusters: ["cluster-a"],
    // Each thread has a cache of forwarded answers, and these tests say what it has.
    config: { threads: 1, outsideZones: "forward", forward },
  });
  gateways.push(gateway);
  return gateway;
}

const ask = (gateway: GatewayProcess, query: Query, path = "/dns-query") =>
  queryDoh(`${gateway.url}${path}`, query, { ca: gateway.ca });
const valuesOf = ({ message }: DnsAnswer) =>
  (message.answers ?? []).map((record) => ("data" in record ? record.data : undefined));
const errorsOf = ({ message }: DnsAnswer) =>
  extendedErrors(message.additionals?.flatMap((record) => (record.type === "OPT" ? record.options : [])));
const question = (name: string, type: "A" | "AAAA" | "NS" | "TXT" | "MX" | "PTR" = "A") => ({
  name,
  type,
  edns: true,
});
const results = (gateway: GatewayProcess, result: string) =>
  metric(gateway, "clusterset_doh_outside_queries_total", { result });

describe("names out of zone, by plain DNS and by DNS over HTTPS", () => {
  let byDns: GatewayProcess;
  let byHttps: GatewayProcess;

  beforeAll(async () => {
    byDns = await forwarding([plain(first, "first")]);
    byHttps = await forwarding([
      { server: first.doh!.url, name: "first", caFile: join(first.folder, "tls.crt") },
    ]);
  });

  test("are answered before the first push, then from the cache", async () => {
    for (const gateway of [byDns, byHttps]) {
      const answer = await ask(gateway, question("who.example.com"));
      expect([answer.rcode, valuesOf(answer), answer.aa]).toEqual(["NOERROR", ["192.0.2.1"], false]);
      expect(answer.message.flag_ra).toBe(true);
      await ask(gateway, question("WHO.example.com"));
      expect([await results(gateway, "miss"), await results(gateway, "hit")]).toEqual([1, 1]);
      expect(await gateway.json("who.example.com", "A")).toMatchObject({
        Status: 0,
        RA: true,
        Answer: [{ data: "192.0.2.1" }],
        Comment: expect.stringMatching(/^forwarded to first(; cached \d+ s ago)?$/),
      });
    }
  });

  test("with answers longer than a datagram are answered over TCP (RFC 7766 section 5)", async () => {
    for (const gateway of [byDns, byHttps]) {
      const answer = await ask(gateway, question("large.example.com", "TXT"));
      expect([answer.tc, valuesOf(answer).flat().map(String)]).toEqual([false, LARGE_TEXT]);
    }
  });

  test("are forwarded without the client's EDNS options", async () => {
    const port = new URL(byDns.url).port;
    const answer = await run("dig", [
      ...["+https", "@127.0.0.1", "-p", port, "+short", "+subnet=198.51.100.0/24", "+cookie"],
      ...["mail.example.com", "MX"],
    ]);
    expect(answer.trim()).toBe("10 mx.example.net.");
    expect(first.process.log()).not.toContain("198.51.100");
  });
});

describe("a CNAME record with a target out of zone", () => {
  test("is answered together with its target's records", async () => {
    const manifests = temporaryFolder("aliases");
    const service = (name: string, externalName: string) => ({
      ...{ apiVersion: "v1", kind: "Service", metadata: { name, namespace: "shop" } },
      spec: { type: "ExternalName", externalName },
    });
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
    const objects = [namespace, service("www", "www.example.com"), service("gone", "nothing.example.com")];
    writeFileSync(
      join(manifests, "shop.yaml"),
      objects.map((object) => JSON.stringify(object)).join("\n---\n"),
    );
    const gateway = await forwarding([plain(first, "first")]);
    const args = ["--cluster-zone", "cluster.local"];
    workers.push(startSync({ manifests, clusterId: "cluster-a", gateways: [gateway], args }));
    await untilLive(gateway, 1);
    const path = "/clusters/cluster-a/dns-query";
    const found = await ask(gateway, question("www.shop.svc.cluster.local"), path);
    expect([found.rcode, found.aa, valuesOf(found)]).toEqual([
      "NOERROR",
      true,
      ["www.example.com", "web.example.com", "192.0.2.81"],
    ]);
    const gone = await ask(gateway, question("gone.shop.svc.cluster.local"), path);
    expect([gone.rcode, valuesOf(gone), gone.message.authorities]).toMatchObject([
      "NXDOMAIN",
      ["nothing.example.com"],
      [{ type: "SOA", name: "example.com" }],
    ]);
    const json = await gateway.json("www.shop.svc.cluster.local", "A", { view: "cluster-a" });
    expect(json.Comment).toMatch(
      /^seen from cluster-a; 1 of 1 cluster live; .*; its CNAME target: forwarded to first/,
    );
    expect((await ask(gateway, question("www.shop.svc.cluster.local"))).rcode).toBe("NXDOMAIN");
  });
});

describe("upstreams that fail", () => {
  test("lead to stale answers, marked as stale, until one recovers (RFC 8767)", async () => {
    const lonely = await startResolver({ address: "192.0.2.3" });
    try {
      const gateway = await forwarding([plain(lonely, "lonely")]);
      expect(valuesOf(await ask(gateway, question("short.example.com")))).toEqual(["192.0.2.3"]);
      expect((await ask(gateway, question("nothing.example.com"))).rcode).toBe("NXDOMAIN");
      await lonely.process.kill();
      await eventually(async () => errorsOf(await ask(gateway, question("short.example.com")))).toEqual([3]);
      await eventually(async () => errorsOf(await ask(gateway, question("nothing.example.com")))).toEqual([
        19,
      ]);
      const stale = await ask(gateway, question("short.example.com"));
      expect([stale.rcode, valuesOf(stale), stale.message.answers]).toMatchObject([
        "NOERROR",
        ["192.0.2.3"],
        [{ ttl: 30 }],
      ]);
      expect((await gateway.json("short.example.com", "A")).Comment).toMatch(
        /^Extended DNS Error 3; forwarded to lonely; cached \d+ s ago; stale: no newer answer was available$/,
      );
      const unknown = await ask(gateway, question("web.example.com"));
      expect([unknown.rcode, errorsOf(unknown)]).toEqual(["SERVFAIL", [23]]);
      expect(await results(gateway, "stale")).toBeGreaterThan(2);
      await lonely.process.restart();
      await eventually(async () => (await ask(gateway, question("web.example.com"))).rcode).toBe("NOERROR");
      await eventually(async () => errorsOf(await ask(gateway, question("short.example.com")))).toEqual([]);
    } finally {
      await lonely.stop();
    }
  });
});
