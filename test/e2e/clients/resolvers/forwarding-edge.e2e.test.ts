import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extendedErrors } from "../../../forward/fake-forwarder.ts";
import { startWorker, type WorkerProcess } from "../../edge/wrangler.ts";
import { eventually } from "../../harness/answers.ts";
import type { CoreDns } from "../../servers/coredns.ts";
import type { DnsAnswer } from "../../servers/dns.ts";
import { startResolver } from "./upstream-resolver.ts";

describe("the Worker in workerd forwards by fetch", () => {
  let resolver: CoreDns;
  let worker: WorkerProcess;

  beforeAll(async () => {
    resolver = await startResolver();
    worker = await startWorker({
      caFile: join(resolver.folder, "tls.crt"),
      config: {
        outsideZones: "forward",
        paths: [{ path: "/refuse", outsideZones: "refuse" }],
        forward: { upstreams: [{ server: resolver.doh!.url, name: "resolver" }] },
      },
    });
  });

  afterAll(async () => {
    await worker?.stop();
    await resolver?.stop();
  });

  const valuesOf = ({ message }: DnsAnswer) =>
    message.answers?.map((record) => "data" in record && record.data);
  const errorsOf = ({ message }: DnsAnswer) =>
    extendedErrors(message.additionals?.flatMap((record) => (record.type === "OPT" ? record.options : [])));

  test("forwards names out of zone, also before a generation is loaded", async () => {
    const answer = await worker.query("who.example.com", "A");
    expect([answer.rcode, valuesOf(answer)]).toEqual(["NOERROR", ["192.0.2.1"]]);
    expect((await worker.query("nothing.example.com", "A")).rcode).toBe("NXDOMAIN");
    expect((await worker.query("printer.local", "A")).rcode).toBe("NXDOMAIN");
    expect((await worker.query("web.shop.svc.clusterset.local", "A")).rcode).toBe("SERVFAIL");
    expect(resolver.process.log()).not.toMatch(/printer|clusterset/);
    expect(await worker.json("who.example.com", "A")).toMatchObject({
      Comment: expect.stringMatching(/^forwarded to resolver(; cached \d+ s ago)?$/),
    });
  });

  test("answers concurrent queries for one name without waiting for each other's requests", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => worker.query("web.example.com", "A")));
    for (const answer of answers) expect(valuesOf(answer)).toEqual(["192.0.2.81"]);
  });

  test("answers from the isolate's cache, and stale if the upstream is down (RFC 8767)", async () => {
    expect(valuesOf(await worker.query("short.example.com", "A"))).toEqual(["192.0.2.1"]);
    await resolver.process.kill();
    expect(valuesOf(await worker.query("web.example.com", "A"))).toEqual(["192.0.2.81"]);
    await eventually(async () => errorsOf(await worker.query("short.example.com", "A"))).toEqual([3]);
    const stale = await worker.query("short.example.com", "A");
    expect([valuesOf(stale), stale.message.answers]).toMatchObject([["192.0.2.1"], [{ ttl: 30 }]]);
    expect((await worker.query("ns.example.com", "A")).rcode).toBe("SERVFAIL");
    await eventually(() => worker.events("upstream-failed").length).toBeGreaterThan(0);
    await resolver.process.restart();
    await eventually(async () => (await worker.query("ns.example.com", "A")).rcode).toBe("NOERROR");
  });
});
