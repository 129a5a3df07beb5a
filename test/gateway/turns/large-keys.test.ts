import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { Reader } from "../../../src/database/reader.ts";
import type { Visibility } from "../../../src/merge/visibility.ts";
import { listServices } from "../../../src/names/services.ts";
import { resolve } from "../../../src/resolve/resolve.ts";
import type { ClusterSnapshot, Endpoint } from "../../../src/snapshot/schema.ts";
import { markText, readKey } from "../../../src/transfer/part-forms.ts";
import { Primary } from "../../../src/transfer/primary.ts";
import type { ZoneOptions } from "../../../src/zone/zone-plan.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { worldOf } from "../../names/world-of.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { FakeClock } from "../fake-clock.ts";
import { patchCluster, putSnapshot } from "../open-gateway.ts";
import { answerNow, memoryDatabase, openKeyed } from "../open-keyed.ts";

const ZONE = "svc.clusterset.local";
const FIRST = `pod-0.east.many.shop.${ZONE}`;
const OF_WEST = `pod-0.west.many.shop.${ZONE}`;
const OF_WEST_ADDRESS = "10.2.0.0";
/** In seconds. */
const SHORT_LEASE = 10;
const SMALL = encodeQuery(`web.shop.${ZONE}`, "A");

function endpoint(index: number, address = `10.1.${index >> 8}.${index & 255}`): Endpoint {
  return { address, hostname: `pod-${index}` };
}

/** A cluster that exports `shop/many` with these endpoints, and `shop/web`. */
function headless(clusterId: string, many: readonly Endpoint[]): ClusterSnapshot {
  const web = { address: "10.0.0.1" };
  const services = { "shop/many": endpoints(...many), "shop/web": endpoints(web) };
  const exports = Object.entries(services).map(([key, groups]) => [
    key,
    exported({ headless: true, endpoints: groups }),
  ]);
  return snapshot(clusterId, { exports: Object.fromEntries(exports) });
}

function manyPorts(): ClusterSnapshot {
  const ports = Array.from({ length: 300 }, (_, index) => ({
    name: `p${index}`,
    protocol: "",
    port: index + 1,
  }));
  const groups = endpoints(
    ...Array.from({ length: 300 }, (_, index) => ({ address: `10.1.${index >> 8}.${index & 255}` })),
  );
  const [group] = Object.values(groups);
  const many = exported({ headless: true, endpoints: { "*": { ...group!, ports } } });
  return snapshot("east", { exports: { "shop/many": many } });
}

function manyZones(): ClusterSnapshot {
  const topology = { region: "eu", zones: Array.from({ length: 500 }, (_, index) => `eu-${index}`) };
  const loadBalancer = Array.from({ length: 100 }, (_, index) => ({ ip: `192.0.2.${index}` }));
  return snapshot("east", { topology, exports: { "shop/many": exported({ loadBalancer }) } });
}

/** A gateway with `shop/web`, and `shop/many`, which is too large to be compiled in place. */
async function openLarge(count = 1000) {
  const clock = new FakeClock();
  const database = memoryDatabase();
  const gateway = openKeyed({ clock, database });
  const until = async <Result>(promise: Promise<Result>): Promise<Result> => {
    let isOver = false;
    void promise.finally(() => {
      isOver = true;
    });
    while (!isOver) await clock.turn();
    return promise;
  };
  const many = Array.from({ length: count }, (_, index) => endpoint(index));
  await until(putSnapshot(gateway, headless("east", many), { leaseSeconds: 3600 }));
  const ask = (name: string, type = "A") =>
    gateway.everything.answer(encodeQuery(name, type), undefined, clock.now());
  const askLate = async (name: string, type = "A") => {
    const answer = ask(name, type);
    expect(answer).toBeInstanceOf(Promise);
    return (await answer)!;
  };
  const generationOf = (cluster: string) =>
    gateway.state.live.get(cluster)?.generation ?? gateway.state.expired.get(cluster)!.generation;
  return { clock, database, gateway, until, ask, askLate, generationOf };
}

describe("a large service", () => {
  it.each([
    [`many.shop.${ZONE}`, "A"],
    [`_http._tcp.many.shop.${ZONE}`, "SRV"],
    [FIRST, "A"],
    [`none.east.many.shop.${ZONE}`, "A"],
    ["0.0.1.10.in-addr.arpa", "PTR"],
    [`shop.${ZONE}`, "A"],
  ])("is answered at %s %s as where it is compiled at once", async (name, type) => {
    const { clock, gateway, until, ask } = await openLarge();
    const answer = ask(name, type);
    const { bytes } = (answer instanceof Promise ? await until(answer) : answer)!;
    const now = clock.now();
    const context = { ...gateway.everything.current(now)!, view: undefined, now, rotation: 0 };
    const expected = resolve(encodeQuery(name, type), { ...context, outside: "refuse" })!;
    expect(decode(bytes)).toEqual(decode(expected.bytes));
  });

  it.each(["clusterset", "federation"])("is compiled in many steps in zones of the kind %s", (kind) => {
    const count = 2000;
    const many = Array.from({ length: count }, (_, index) => endpoint(index));
    const federations = [{ name: "fed", zone: "federation." }];
    const world = worldOf([headless("east", many)], { federations } as Partial<ZoneOptions>);
    const steps = [...world.compile(world.treeOf(kind)!, "shop/many")].length;
    // Its names are compiled, sorted and written.
    expect(steps).toBeGreaterThan(2.9 * (count / 64));
  });

  it("is compiled once for all lists that show it, and then kept", async () => {
    const { gateway, until } = await openLarge();
    const { world } = gateway.everything.current()!;
    const compile = vi.spyOn(world, "compile");
    const search = { words: [], view: undefined, offset: 0, most: 10 };
    const lists = Array.from({ length: 3 }, () => gateway.turns.run(listServices(world, search)));
    for (const { services } of await until(Promise.all(lists)))
      expect(services.map(({ name, addressCount }) => [name, addressCount])).toEqual([
        ["many", 1000],
        ["web", 1],
      ]);
    await until(gateway.turns.run(listServices(world, search)));
    expect(compile.mock.calls.filter(([, key]) => key === "shop/many")).toHaveLength(1);
  });

  it("has other queries answered while it is compiled, and is then kept", async () => {
    const { clock, gateway, ask, askLate } = await openLarge(5000);
    let answered = 0;
    const large = askLate(FIRST).finally(() => {
      expect(answered).toBeGreaterThan(20);
      answered = -1;
    });
    while (answered >= 0) {
      await clock.turn();
      if (answered < 0) break;
      expect(answerNow(gateway.everything, SMALL, undefined, clock.now()).outcome).toBe("answer");
      answered++;
    }
    expect(ask(FIRST)).toEqual(await large);
  });

  it("is compiled once for all queries that wait for it", async () => {
    const { until, askLate } = await openLarge();
    const reads = vi.spyOn(Reader.prototype, "rowsOf");
    await until(Promise.all(Array.from({ length: 50 }, () => askLate(FIRST))));
    expect(reads.mock.calls.filter(([key]) => key === "shop/many")).toHaveLength(1);
    reads.mockRestore();
  });

  it.each<[string, string, ClusterSnapshot]>([
    ["many ports of many endpoints", `many.shop.${ZONE}`, manyPorts()],
    ["load balancers in many topology zones", "many.shop.fed.svc.federation", manyZones()],
  ])(
    "may have a short text and %s: it is compiled in turns, and not begun again by each query",
    async (_, name, one) => {
      const clock = new FakeClock();
      clock.nextTurn = (run) => void setImmediate(run);
      const federations = [{ name: "fed", zone: "federation" }];
      const gateway = openKeyed({ clock, names: { zones: { ttl: 30, federations }, merging: {} } });
      await putSnapshot(gateway, one, { leaseSeconds: 3600 });
      expect(JSON.stringify(one).length).toBeLessThan(32_768);
      const compile = vi.spyOn(gateway.everything.current()!.world, "compile");
      const answers = Array.from({ length: 20 }, () =>
        gateway.everything.answer(encodeQuery(name, "A"), undefined, clock.now()),
      );
      for (const answer of answers) expect(answer).toBeInstanceOf(Promise);
      for (const answer of answers) expect((await answer)!.outcome).toBe("answer");
      // In place, until it takes too many steps, and in turns.
      expect(compile).toHaveBeenCalledTimes(2);
    },
  );

  it("keeps 10,000 queries waiting, and is SERVFAIL for others", async () => {
    const { until, askLate } = await openLarge();
    const outcomes = Array.from({ length: 10_001 }, async () => (await askLate(FIRST)).outcome);
    const answers = await until(Promise.all(outcomes));
    expect(answers.filter((outcome) => outcome === "answer")).toHaveLength(10_000);
    expect(answers.at(-1)).toBe("servfail");
  });

  it("is answered with all that was acknowledged before the query, whatever changes while it is compiled", async () => {
    const anyStep = fc.oneof(
      fc.constantFrom("ask" as const, "patch" as const, "west" as const),
      fc.integer({ min: 1, max: 8 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 4, maxLength: 20 }), async (steps) => {
        const { clock, gateway, until, ask, generationOf } = await openLarge();
        let [patches, moves, isWest] = [0, 0, false];
        /** What each name was answered with, after each acknowledgement. */
        const history: [east: string, west: string][] = [["10.1.0.0", ""]];
        const acknowledge = () => history.push([`10.1.${patches}.0`, isWest ? OF_WEST_ADDRESS : ""]);
        const check = async (name: string, at: 0 | 1) => {
          const since = history.length - 1;
          const { answer } = decode((await ask(name))!.bytes);
          const possible = history.slice(since).map((state) => state[at]);
          expect(possible).toContain(answer.map((record) => record.split(" ")[3]).join());
        };
        const checkBoth = () => Promise.all([check(FIRST, 0), check(OF_WEST, 1)]);
        const checks: Promise<unknown>[] = [];
        for (const step of steps)
          if (step === "ask") checks.push(checkBoth());
          else if (step === "patch") {
            const members = { "10.1.0.0#pod-0": endpoint(0, `10.1.${patches + 1}.0`) };
            const changed = { "http/TCP/8080": { members } };
            const patch = { exports: { "shop/many": { endpoints: changed } } };
            await until(patchCluster(gateway, "east", generationOf("east"), patch));
            patches++;
            acknowledge();
          } else if (step === "west") {
            // Which keys a lease changes that expires, or is renewed then, is named nowhere.
            const move = moves++ % 4;
            if (move === 0) {
              const west = headless("west", [endpoint(0, OF_WEST_ADDRESS)]);
              await until(putSnapshot(gateway, west, { leaseSeconds: SHORT_LEASE }));
            } else if (move === 1) clock.stall(SHORT_LEASE * 1000);
            else if (move === 2) await until(gateway.renew("west", generationOf("west")));
            else await until(gateway.leave("west"));
            isWest = move % 2 === 0;
            acknowledge();
          } else
            for (let turns = step; turns > 0; turns--) {
              await clock.turn();
              answerNow(gateway.everything, SMALL, undefined, clock.now());
            }
        await until(Promise.all(checks));
        await until(checkBoth());
        expect(ask(FIRST)).not.toBeInstanceOf(Promise);
      }),
      { numRuns: 40 },
    );
  });

  it("comes to secondaries with the change up to which it has all, whatever changes while it is compiled", async () => {
    const { clock, database, gateway, until, generationOf } = await openLarge();
    const primary = new Primary({
      gateway: gateway.state,
      turns: gateway.turns,
      reader: new Reader(database, () => expect.unreachable()),
      settings: "",
      clock: () => clock.now(),
    }).of("")!;
    const { epoch, recent } = primary.state();
    const of: Record<string, string> = {
      zone: "clusterset",
      namespace: "shop",
      label: "many",
      epoch,
      v: markText({ position: recent[0], generation: recent[1] }),
    };
    const { position } = gateway.state;
    const part = primary.part("key", (name) => of[name] ?? "");
    expect(part).toBeInstanceOf(Promise);
    for (let turns = 0; turns < 3; turns++) await clock.turn();
    const changed = { "http/TCP/8080": { members: { "10.1.0.0#pod-0": endpoint(0, "10.1.77.0") } } };
    const patch = { exports: { "shop/many": { endpoints: changed } } };
    await until(patchCluster(gateway, "east", generationOf("east"), patch));
    const bytes = (await until(part as Promise<Uint8Array<ArrayBuffer>>))!;
    expect(Buffer.from(bytes).includes(Buffer.from([10, 1, 77, 0]))).toBe(false);
    expect(readKey(bytes).at).toBe(position);
    expect(gateway.state.position).toBeGreaterThan(position);
  });
});

describe("the reverse name of an address that many large services have in a scope", () => {
  const many = Array.from(
    { length: 2500 },
    (_, index): Endpoint => ({ address: `10.1.${index >> 8}.${index & 255}` }),
  );
  const keys = ["shop/one", "shop/two", "shop/three"];
  const each = <Service>(service: Service) => Object.fromEntries(keys.map((key) => [key, service]));
  const of = endpoints(...many);
  const exports = each(exported({ headless: true, endpoints: of }));
  const shared = each(exported({ endpoints: of }));
  const imports = each(imported({ ips: ["10.1.0.0"], endpoints: { west: of } }));

  it.each<[string, Visibility, Partial<ClusterSnapshot>]>([
    ["of some ranges", { addressRanges: ["10.0.0.0/8"] }, { exports }],
    ["of some sources", { addressSources: ["Endpoint"] }, { exports }],
    ["of some clusters, which export them", { clusters: ["east", "west"] }, { exports }],
    [
      "of some clusters, which export them with addresses of their own",
      { clusters: ["east"] },
      { exports: shared },
    ],
    ["of some clusters, which import them", { clusters: ["east", "west"] }, { imports }],
    [
      "of some clusters, one of which imports them from another one",
      { clusters: ["east", "north"] },
      { imports },
    ],
  ])("%s is found without reading one of them in place", async (_, scope, parts) => {
    const open = async (charactersInPlace?: number) => {
      const clock = new FakeClock();
      clock.nextTurn = (run) => void setImmediate(run);
      const names = { zones: {}, merging: { grants: new Map([["east", "*" as const]]) }, charactersInPlace };
      const gateway = openKeyed({ clock, scopes: [scope], names });
      await putSnapshot(gateway, snapshot("east", parts), { leaseSeconds: 3600 });
      return () =>
        gateway.within(scope).answer(encodeQuery("0.0.1.10.in-addr.arpa", "PTR"), undefined, clock.now());
    };
    const [ask, askInPlace] = [await open(), await open(Number.POSITIVE_INFINITY)];
    const reads = vi.spyOn(Reader.prototype, "entry");
    const answer = decode((await ask())!.bytes);
    expect(reads.mock.calls.filter(([, , name]) => keys.includes(name))).toEqual([]);
    reads.mockRestore();
    expect(answer).toEqual(decode((await askInPlace())!.bytes));
  });
});

describe("a namespace of many services without names", () => {
  /** How a query for the namespace is answered, and which services it compiles before any turn. */
  const askFor = async (services: number) => {
    const clock = new FakeClock();
    clock.nextTurn = (run) => void setImmediate(run);
    const gateway = openKeyed({ clock });
    const members = Array.from({ length: 200 }, (_, index) => ({ ...endpoint(index), ready: false }));
    const service = exported({ headless: true, endpoints: endpoints(...members) });
    const exports = Object.fromEntries(
      Array.from({ length: services }, (_, index) => [`shop/s${index}`, service]),
    );
    await putSnapshot(gateway, snapshot("east", { exports }), { leaseSeconds: 3600 });
    const reads = vi.spyOn(Reader.prototype, "rowsOf");
    const answer = gateway.everything.answer(encodeQuery(`shop.${ZONE}`, "A"), undefined, clock.now());
    const inPlace = reads.mock.calls.filter(([key]) => key.startsWith("shop/s")).length;
    const { rcode } = decode((await answer)!.bytes);
    const all = reads.mock.calls.filter(([key]) => key.startsWith("shop/s")).length;
    reads.mockRestore();
    return { rcode, inPlace, all };
  };

  it("does not exist, which is found in turns with other queries", async () => {
    const { rcode, inPlace, all } = await askFor(50);
    expect(rcode).toBe("NXDOMAIN");
    expect(inPlace).toBeLessThan(10);
    expect(all).toBe(50);
  });

  it("counts as existing where there are too many to search", async () => {
    const { rcode, all } = await askFor(300);
    expect(rcode).toBe("NOERROR");
    expect(all).toBeLessThan(110);
  });
});

describe("large services of several namespaces", () => {
  /** Services that are all large; `ask` gives the outcome of a query for one. */
  const open = async (keys: readonly string[]) => {
    const clock = new FakeClock();
    clock.nextTurn = (run) => void setImmediate(run);
    const gateway = openKeyed({ clock, names: { zones: {}, merging: {}, charactersInPlace: 0 } });
    const service = exported({ headless: true, endpoints: endpoints(endpoint(0)) });
    const exports = Object.fromEntries(keys.map((key) => [key, service]));
    const namespaces = Object.fromEntries(keys.map((key) => [key.split("/")[0], {}]));
    await putSnapshot(gateway, snapshot("east", { namespaces, exports }), { leaseSeconds: 3600 });
    return async (key: string) => {
      const [namespace, name] = key.split("/");
      const query = encodeQuery(`${name}.${namespace}.${ZONE}`, "A");
      return (await gateway.everything.answer(query, undefined, clock.now()))!.outcome;
    };
  };

  it("have their turns by namespace: many in one do not hold up another one", async () => {
    const many = Array.from({ length: 20 }, (_, index) => `shop/s${index}`);
    const keys = [...many, "bank/one", "bank/two", "mail/one"];
    const ask = await open(keys);
    const done: string[] = [];
    await Promise.all(
      keys.map(async (key) => {
        await ask(key);
        done.push(key);
      }),
    );
    // The first one was begun before there was another one.
    expect(done.slice(1, 7)).toEqual(["shop/s1", "bank/one", "mail/one", "shop/s2", "bank/two", "shop/s3"]);
    expect(done).toHaveLength(keys.length);
  });

  it("are waited for in another namespace, although no further query may wait in one", async () => {
    const ask = await open(["shop/web", "bank/web"]);
    const outcomes = Array.from({ length: 10_001 }, () => ask("shop/web"));
    const other = ask("bank/web");
    expect(await outcomes.at(-1)).toBe("servfail");
    expect(await other).toBe("answer");
    expect(new Set(await Promise.all(outcomes.slice(0, -1)))).toEqual(new Set(["answer"]));
    expect(await ask("shop/web")).toBe("answer");
  });
});
