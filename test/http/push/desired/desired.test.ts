import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { DesiredLine } from "../../../../src/snapshot/desired-line.ts";
import { aboutLine } from "../../../gateway/about-line.ts";
import { day, endpoints, exported, exporting, snapshot } from "../../../merge/fixtures.ts";
import { expectMet } from "../../../property-share.ts";
import { arbitrarySnapshot } from "../../../worlds/arbitrary.ts";
import { DesiredReader, openDesiredApi } from "./desired-api.ts";

const pods = (...addresses: string[]) => endpoints(...addresses.map((address) => ({ address })));
/** As many exports with one endpoint each. */
function manyExports(count: number) {
  const one = exported({ endpoints: pods("10.2.0.1") });
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`shop/web-${index}`, one]));
}
type Open = Awaited<ReturnType<typeof openDesiredApi>>["open"];

/** A new stream behind its first batch and its leases. */
async function follow(open: Open, cluster = "a") {
  const reader = await open(cluster);
  const { position } = await reader.batch();
  const leases = await reader.next();
  return { reader, position, leases };
}

/** The first lines of a new stream of the cluster "a". */
async function readOnce(open: Open, after: string) {
  const reader = await open("a", after);
  const abouts = await reader.abouts();
  await reader.cancel();
  return abouts;
}

const about = (line: DesiredLine | undefined) => (line === undefined ? "end" : aboutLine(line));
const code = async (response: Response) => [
  response.status,
  ((await response.json()) as { code: string }).code,
];

describe("GET /api/v1/clusters/<id>/desired", () => {
  it("streams the state, its position and leases, then what changes", async () => {
    const { push, get } = await openDesiredApi();
    await push(exporting("a", { endpoints: pods("10.0.0.1") }));
    await push(exporting("c", { exportedAt: day(9), endpoints: pods("10.2.0.1") }));
    const response = await get("a");
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    const reader = new DesiredReader(response);
    expect(await reader.abouts()).toEqual([
      "snapshot",
      "import shop/web",
      "slice shop/web a",
      "slice shop/web c",
      "export shop/web",
    ]);
    expect(about(await reader.next())).toBe("leases a,c");
    await push(exporting("c", { exportedAt: day(9), endpoints: pods("10.2.0.2") }));
    expect(await reader.abouts()).toEqual(["slice shop/web c"]);
    await push(snapshot("c"));
    expect(await reader.abouts()).toEqual(["import shop/web", "slice shop/web c none"]);
    await push(snapshot("a"));
    expect(await reader.abouts()).toEqual([
      "import shop/web none",
      "slice shop/web a none",
      "export shop/web none",
    ]);
    await reader.cancel();
  });

  it("has a service for the clusters that its exports reach alone, whenever they begin or cease to", async () => {
    const { push, open } = await openDesiredApi();
    await push(snapshot("a"));
    await push(snapshot("b"));
    const to = (...clusters: string[]) => push(exporting("c", { clusters, endpoints: pods("10.2.0.1") }));
    await push(exporting("c", { endpoints: pods("10.2.0.1") }));
    const [a, b] = [await open("a"), await open("b")];
    for (const reader of [a, b]) {
      expect(await reader.abouts()).toEqual(["snapshot", "import shop/web", "slice shop/web c"]);
      await reader.next();
    }
    const seen = async () => [(await a.abouts()).sort(), (await b.abouts()).sort()];
    const [there, gone] = [
      ["import shop/web", "slice shop/web c"],
      ["import shop/web none", "slice shop/web c none"],
    ];
    await to("a");
    expect(await seen()).toEqual([there, gone]);
    await to("b");
    expect(await seen()).toEqual([gone, there]);
    await push(exporting("c", { endpoints: pods("10.2.0.1") }));
    expect(await seen()).toEqual([there, there]);
    for (const reader of [a, b]) await reader.cancel();
  });

  it("by HEAD says what GET would, and leaves no stream open", async () => {
    const { push, get, counts } = await openDesiredApi();
    expect((await get("a", undefined, "a", "HEAD")).status).toBe(409);
    await push(exporting("a"));
    const response = await get("a", undefined, "a", "HEAD");
    expect([response.status, response.body, counts.streams]).toEqual([200, null, 0]);
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
  });

  it("resumes after a position with what changed since, and begins anew after one of another process", async () => {
    const { push, open } = await openDesiredApi();
    await push(exporting("c", { endpoints: pods("10.2.0.1") }));
    await push(snapshot("a"));
    const first = await open("a");
    const { position } = await first.batch();
    await first.cancel();
    expect(await readOnce(open, position)).toEqual(["changes"]);
    const both = { "shop/web": exported({ endpoints: pods("10.2.0.9") }), "shop/db": exported() };
    await push(snapshot("c", { exports: both }));
    const resumed = await readOnce(open, position);
    expect(resumed.sort()).toEqual(["changes", "import shop/db", "slice shop/web c"]);
    for (const after of ["0000000000000000.2", "nonsense", `${position.split(".")[0]}.999`])
      expect((await readOnce(open, after))[0]).toBe("snapshot");
  });

  it("names the conditions of a cluster's own exports, also of those that its worker cannot export", async () => {
    const { push, open } = await openDesiredApi();
    const about = { kind: "ServiceExport", namespace: "shop", name: "db" };
    const finding = { ...about, reason: "NoService", message: "none" };
    await push({ ...exporting("a"), findings: { "ServiceExport/shop/db/NoService": finding } });
    await push(exporting("c", { exportedAt: day(9), headless: true }));
    const reader = await open("a");
    const { lines } = await reader.batch();
    const conditions = lines.flatMap((line) => ("export" in line ? [line] : []));
    expect(conditions.map((line) => [line.export, line.conditions!.map(({ reason }) => reason)])).toEqual([
      ["shop/web", ["Valid", "Exported", "TypeConflict"]],
      ["shop/db", ["NoService", "Pending", "NoConflicts"]],
    ]);
    await push(exporting("a"));
    expect(await reader.abouts()).toEqual(["export shop/db none"]);
    await reader.cancel();
  });

  it("sends nothing for what changes nothing, such as the addresses that a cluster gave a derived Service", async () => {
    const { push, open, counts } = await openDesiredApi();
    await push(exporting("c", { endpoints: pods("10.2.0.1") }));
    await push(snapshot("a"));
    const { reader } = await follow(open);
    const before = counts.lines;
    const own = { "shop/web": { managed: true as const, ips: ["10.96.0.1"], ports: [], endpoints: {} } };
    await push(snapshot("a", { imports: own }));
    await push(exporting("c", { endpoints: pods("10.2.0.2") }));
    expect(await reader.abouts()).toEqual(["slice shop/web c"]);
    expect(counts.lines - before).toBeLessThanOrEqual(3);
    await reader.cancel();
  });

  it("names nothing that is hidden from the cluster: services, endpoints, conflicts and leases", async () => {
    const { push, open } = await openDesiredApi({ scope: { clusters: ["a", "c"], namespaces: ["shop"] } });
    await push(exporting("a", { exportedAt: day(5), endpoints: pods("10.0.0.1") }));
    await push(exporting("b", { exportedAt: day(1), headless: true, endpoints: pods("10.9.9.9") }));
    await push(snapshot("c", { namespaces: { shop: {}, secret: {} }, exports: { "secret/db": exported() } }));
    const reader = await open("a");
    const { lines } = await reader.batch();
    expect(lines.map(aboutLine)).toEqual([
      "snapshot",
      "import shop/web",
      "slice shop/web a",
      "export shop/web",
    ]);
    expect(JSON.stringify([...lines, await reader.next()])).not.toMatch(
      /"b"|10\.9\.9\.9|secret|Headless|TypeConflict/,
    );
    await reader.cancel();
  });
});

describe("a stream of a desired state is rejected", () => {
  it("without the credential of that cluster, and without the operator's leave", async () => {
    const { push, get } = await openDesiredApi();
    for (const cluster of ["a", "b", "c"]) await push(exporting(cluster));
    expect(await code(await get("a", undefined, "nobody"))).toEqual([401, "UNKNOWN_TOKEN"]);
    expect(await code(await get("a", undefined, "b"))).toEqual([403, "OTHER_CLUSTER"]);
    expect(await code(await get("c"))).toEqual([403, "CONTROL_NOT_ALLOWED"]);
    expect(await code(await get("a", undefined, "a", "POST"))).toEqual([405, "METHOD_NOT_ALLOWED"]);
  });

  it("of a cluster that is not live, whose worker keeps what it has", async () => {
    const { push, get, open, gateway } = await openDesiredApi();
    expect(await code(await get("a"))).toEqual([409, "CLUSTER_NOT_LIVE"]);
    await push(exporting("a"));
    await push(exporting("c"));
    const { reader } = await follow(open);
    await gateway.leave("a");
    await push(snapshot("c"));
    expect(await reader.next()).toBeUndefined();
    expect(await code(await get("a"))).toEqual([409, "CLUSTER_NOT_LIVE"]);
  });

  it("above the streams of one cluster and of all, and counted", async () => {
    const { push, get, counters, counts } = await openDesiredApi({
      limits: { controlStreamsPerCluster: 2, controlStreams: 3 },
    });
    for (const cluster of ["a", "b"]) await push(exporting(cluster));
    const [one, two] = [await get("a"), await get("a")];
    expect(await code(await get("a"))).toEqual([429, "TOO_MANY_STREAMS"]);
    const three = await get("b");
    expect(await code(await get("b"))).toEqual([429, "TOO_MANY_STREAMS"]);
    expect(counters.get("limits.controlStreamsPerCluster")).toBe(1);
    expect(counters.get("limits.controlStreams")).toBe(1);
    await one.body!.cancel();
    const again = await get("a");
    expect(again.status).toBe(200);
    for (const open of [two, three, again]) await open.body!.cancel();
    expect(counts.streams).toBe(0);
  });
});

it("changes that keep coming hold up no line of leases", async () => {
  const { push, open, pass } = await openDesiredApi({ limits: { controlIdleSeconds: 600 } });
  await push(snapshot("a"));
  const { reader } = await follow(open);
  await push(snapshot("c", { exports: manyExports(600) }));
  const first = await reader.next();
  await pass(30_000);
  const lines = [first];
  while (lines.at(-1) !== undefined && !("position" in lines.at(-1)!)) lines.push(await reader.next());
  expect(lines.some((line) => line !== undefined && "leases" in line)).toBe(true);
  await reader.cancel();
});

it("leases name a cluster only once its lines are whole: a reader takes its silence for knowledge", async () => {
  const { push, open } = await openDesiredApi();
  const many = manyExports(300);
  await push(snapshot("a"));
  await push(snapshot("b", { exports: many }));
  const reader = await open("a");
  await reader.next();
  await push(snapshot("c", { exports: many }));
  const seen: string[] = [];
  while (seen.filter((line) => line === "position").length < 2) {
    const line = (await reader.next())!;
    if ("leases" in line) seen.push(Object.keys(line.leases).join());
    else if ("position" in line) seen.push("position");
  }
  expect(seen).toEqual(["position", "a,b", "position"]);
  await reader.cancel();
});

describe("a stream ends", () => {
  it("after a time, and is resumed: no limit was hit", async () => {
    const { push, open, counts, counters, pass, clock } = await openDesiredApi();
    await push(exporting("a"));
    const { reader, position } = await follow(open);
    const end = reader.next();
    await pass(100_000);
    expect(await end).toBeUndefined();
    expect(counts.streams).toBe(0);
    expect(clock.timers).toBe(0);
    expect([...counters].filter(([, hits]) => hits > 0)).toEqual([]);
    expect(await (await open("a", position)).abouts()).toEqual(["changes"]);
  });

  it("when its reader takes nothing: it holds one piece, and the others go on", async () => {
    const { push, open, get, counters, pass } = await openDesiredApi();
    await push(snapshot("c", { exports: manyExports(600) }));
    for (const cluster of ["a", "b"]) await push(snapshot(cluster));
    const slow = (await get("a")).body!.getReader();
    const other = await open("b");
    const { value } = await slow.read();
    expect(value!.length).toBeLessThan(80_000);
    expect((await other.batch()).lines.length).toBe(1201);
    await other.next();
    const waiting = other.batch();
    await pass(20_000);
    await expect(slow.read()).rejects.toThrow("took nothing");
    expect(counters.get("limits.controlIdleSeconds")).toBe(1);
    await push(exporting("c"));
    // A large push is applied in parts, each with a position of its own.
    let { length } = (await waiting).lines;
    while (length < 1200) length += (await other.batch()).lines.length;
    await other.cancel();
  });

  it("with an error of the gateway, which is reported, and counts no more", async () => {
    const { push, open, gateway, counts, errors, clock } = await openDesiredApi();
    await push(exporting("a"));
    const failure = new Error("the leases cannot be read");
    vi.spyOn(gateway, "now").mockImplementation(() => {
      throw failure;
    });
    await expect((await open("a")).next()).rejects.toBe(failure);
    expect([errors, counts.streams, clock.timers]).toEqual([[failure], 0, 0]);
  });

  it("when the gateway closes, and when the client aborts", async () => {
    const { push, open, gateway, counts } = await openDesiredApi();
    await push(exporting("a"));
    const [{ reader: one }, { reader: two }] = [await follow(open), await follow(open)];
    await two.cancel();
    expect(counts.streams).toBe(1);
    await gateway.close();
    expect(await one.next()).toBeUndefined();
    expect(counts.streams).toBe(0);
  });

  it("and sends leases at every third of the shortest one in between", async () => {
    const { push, open, pass } = await openDesiredApi();
    await push(exporting("a"));
    const { reader, leases } = await follow(open);
    const again = reader.next();
    await pass(30_000);
    for (const line of [leases, await again]) expect(about(line)).toBe("leases a");
    await reader.cancel();
  });
});

/** What a worker holds of its desired state: each line by what it is about. */
class Followed {
  readonly #lines = new Map<string, string>();

  take(lines: readonly DesiredLine[]): void {
    for (const line of lines) {
      if ("start" in line) {
        if (line.start === "snapshot") this.#lines.clear();
        continue;
      }
      if ("leases" in line || "position" in line) continue;
      const { desired, conditions, ...about } = { desired: null, conditions: null, ...line };
      const key = JSON.stringify(about);
      if ((desired ?? conditions) === null) this.#lines.delete(key);
      else this.#lines.set(key, JSON.stringify(line));
    }
  }

  get lines(): string[] {
    return [...this.#lines.values()].sort();
  }
}

it("a stream that goes on from any position, and one that never breaks off, have what a new stream has", async () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: arbitrarySnapshot(fc.constantFrom("a", "b", "c")) },
    { weight: 1, arbitrary: fc.constantFrom("b", "c") },
  );
  let changed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, fc.boolean()), { minLength: 2, maxLength: 8 }),
      async (steps) => {
        const { gateway, push, open } = await openDesiredApi();
        await push(exporting("a"));
        const [resuming, unbroken, anew] = [new Followed(), new Followed(), new Followed()];
        const reader = await open("a");
        let position: string | undefined;
        const resume = async (followed: Followed, after?: string) => {
          const stream = await open("a", after);
          const { lines, position: end } = await stream.batch();
          await stream.cancel();
          followed.take(lines);
          if (after !== undefined && lines.length > 1) changed++;
          return end;
        };
        for (const [one, isRead] of steps) {
          if (typeof one === "string") await gateway.leave(one);
          else await push(one);
          if (isRead) position = await resume(resuming, position);
        }
        // A change of the cluster's own export, which the unbroken stream has last.
        await push(snapshot("a", { exports: { "shop/last": exported() } }));
        await resume(resuming, position);
        await resume(anew);
        const isLast = (line: DesiredLine) => "export" in line && line.export === "shop/last";
        for (let isOver = false; !isOver; ) {
          const { lines } = await reader.batch();
          unbroken.take(lines);
          isOver = lines.some(isLast);
        }
        await reader.cancel();
        expect(resuming.lines).toEqual(anew.lines);
        expect(unbroken.lines).toEqual(anew.lines);
      },
    ),
    { numRuns: 60 },
  );
  expectMet(changed, 20);
});
