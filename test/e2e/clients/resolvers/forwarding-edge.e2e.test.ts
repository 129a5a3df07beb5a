import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { extendedErrors } from "../../../forward/fake-forwarder.ts";
import { startWorker, type WorkerProcess } from "../../edge/wrangler.ts";
import { eventually } from "../../harness/answers.ts";
import { type CoreDns, startCoreDns } from "../../servers/coredns.ts";
import type { DnsAnswer } from "../../servers/dns.ts";
import { temporaryFolder } from "../../servers/tools/folders.ts";

/** The TTL of short.example.com and of what does not exist, in seconds. */
const SHORT_TTL = 2;

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
        forward: {
          upstreams: [{ server: resolver.doh!.url, name: "resolver" }],
          serverMilliseconds: 60_000,
          totalMilliseconds: 60_000,
        },
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

/** A CoreDNS over HTTPS that answers from files as a resolver of the Internet: `.` and example.com. */
async function startResolver(): Promise<CoreDns> {
  const folder = temporaryFolder("zones");
  const root = join(folder, "root.zone");
  writeFileSync(
    root,
    `$ORIGIN .
@ 3600 IN SOA a.root-servers.net. nstld.example.net. 1 1800 900 604800 ${SHORT_TTL}
@ 3600 IN NS a.root-servers.net.
a.root-servers.net. 3600 IN A 198.41.0.4
`,
  );
  const example = join(folder, "example.com.zone");
  writeFileSync(
    example,
    `$ORIGIN example.com.
@ 300 IN SOA ns hostmaster 1 1800 900 604800 ${SHORT_TTL}
@ 300 IN NS ns
@ 300 IN A 192.0.2.80
ns 300 IN A 192.0.2.53
who 300 IN A 192.0.2.1
short ${SHORT_TTL} IN A 192.0.2.1
www 300 IN CNAME web
web 300 IN A 192.0.2.81
`,
  );
  return startCoreDns([`file ${example} example.com`, `file ${root} .`, "log"], {
    name: "resolver",
    doh: true,
  });
}
