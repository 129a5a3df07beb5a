import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { Kind } from "../../../src/database/places.ts";
import { Reader } from "../../../src/database/reader.ts";
import type { Visibility } from "../../../src/merge/visibility.ts";
import { Accounts, listServices } from "../../../src/names/services.ts";
import type { ClusterSnapshot, Endpoint } from "../../../src/snapshot/schema.ts";
import { readKey } from "../../../src/transfer/part-forms.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { openPrimary } from "../../transfer/pair.ts";
import { FakeClock, TurningClock } from "../fake-clock.ts";
import { patchCluster, putSnapshot } from "../open-gateway.ts";
import { answerNow, openKeyed } from "../open-keyed.ts";

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

const numbered = <Value>(count: number, of: (index: number) => Value) =>
  Array.from({ length: count }, (_, index) => of(index));
const bare = (index: number): Endpoint => ({ address: endpoint(index).address });

function manyPorts(): ClusterSnapshot {
  const ports = numbered(300, (index) => ({ name: `p${index}`, protocol: "", port: index + 1 }));
  const [group] = Object.values(endpoints(...numbered(300, bare)));
  const many = exported({ headless: true, endpoints: { "*": { ...group!, ports } } });
  return snapshot("east", { exports: { "shop/many": many } });
}

function manyZones(): ClusterSnapshot {
  const topology = { region: "eu", zones: numbered(500, (index) => `eu-${index}`) };
  const loadBalancer = numbered(100, (index) => ({ ip: `192.0.2.${index}` }));
  return snapshot("east", { topology, exports: { "shop/many": exported({ loadBalancer }) } });
}

/** A gateway with `shop/web`, and `shop/many`, which is too large to be compiled in place. */
async function openLarge(count = 1000) {
  const clock = new FakeClock();
  const { gateway, primary } = openPrimary(clock);
  const until = async <Result>(promise: Promise<Result>): Promise<Result> => {
    let isOver = false;
    void promise.finally(() => {
      isOver = true;
    });
    while (!isOver) await clock.turn();
    return promise;
  };
  const many = headless("east", numbered(count, endpoint));
  await until(putSnapshot(gateway, many, { leaseSeconds: 3600 }));
  const ask = (name: string) => gateway.everything.answer(encodeQuery(name, "A"), undefined, clock.now());
  const askLate = async (name: string) => {
    const answer = ask(name);
    expect(answer).toBeInstanceOf(Promise);
    return (await answer)!;
  };
  const generationOf = (cluster: string) => gateway.state.generationOf(cluster);
  /** Changes the address of `FIRST`. */
  const patchFirst = (address: string) => {
    const members = { "10.1.0.0#pod-0": endpoint(0, address) };
    const exports = { "shop/many": { endpoints: { "http/TCP/8080": { members } } } };
    return until(patchCluster(gateway, "east", generationOf("east"), { exports }));
  };
  return { clock, gateway, primary, until, ask, askLate, generationOf, patchFirst };
}

describe("a large service", () => {
  it("is compiled once for all lists that show it, and then kept", async () => {
    const { gateway, until } = await openLarge();
    const { world } = gateway.everything.current()!;
    const compile = vi.spyOn(world, "compile");
    const search = { words: [], view: undefined, offset: 0, most: 10 };
    const lists = numbered(3, () => gateway.turns.run(listServices(world, search)));
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

  it("of a cluster's own zone is compiled in turns for an explanation of its name", async () => {
    const { clock, gateway, until } = await openLarge(1);
    const service = { createdAt: "2024-01-01T00:00:00Z", serviceType: "ClusterIP" as const, headless: true };
    const own = snapshot("east", {
      clusterZone: { name: "cluster.local", pods: "disabled" },
      services: { "shop/own": { ...service, ports: [], endpoints: endpoints(...numbered(5000, endpoint)) } },
    });
    await until(putSnapshot(gateway, own, { leaseSeconds: 3600 }));
    const { world } = gateway.everything.current()!;
    const turn = vi.spyOn(clock, "turn");
    expect(await until(gateway.turns.run(new Accounts(world).findingsOf("shop/own")))).toEqual([]);
    expect(turn.mock.calls.length).toBeGreaterThan(20);
  });

  it("is compiled once for all queries that wait for it", async () => {
    const { until, askLate } = await openLarge();
    const reads = vi.spyOn(Reader.prototype, "rowsOf");
    await until(Promise.all(numbered(50, () => askLate(FIRST))));
    expect(reads.mock.calls.filter(([key]) => key === "shop/many")).toHaveLength(1);
    reads.mockRestore();
  });

  it.each<[string, string, ClusterSnapshot]>([
    ["many ports of many endpoints", `many.shop.${ZONE}`, manyPorts()],
    ["load balancers in many topology zones", "many.shop.fed.svc.federation", manyZones()],
  ])(
    "may have a short text and %s: it is compiled in turns, and not begun again by each query",
    async (_, name, one) => {
      const clock = new TurningClock();
      const federations = [{ name: "fed", zone: "federation" }];
      const gateway = openKeyed({ clock, names: { zones: { ttl: 30, federations }, merging: {} } });
      await putSnapshot(gateway, one, { leaseSeconds: 3600 });
      expect(JSON.stringify(one).length).toBeLessThan(32_768);
      const compile = vi.spyOn(gateway.everything.current()!.world, "compile");
      const answers = numbered(20, () =>
        gateway.everything.answer(encodeQuery(name, "A"), undefined, clock.now()),
      );
      for (const answer of answers) expect(answer).toBeInstanceOf(Promise);
      for (const answer of answers) expect((await answer)!.outcome).toBe("answer");
      // In place, until it takes too many steps, and in turns.
      expect(compile).toHaveBeenCalledTimes(2);
    },
  );

  it("is answered with all that was acknowledged before the query, whatever changes while it is compiled", async () => {
    const anyStep = fc.oneof(
      fc.constantFrom("ask" as const, "patch" as const, "west" as const),
      fc.integer({ min: 1, max: 8 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 4, maxLength: 20 }), async (steps) => {
        const { clock, gateway, until, ask, generationOf, patchFirst } = await openLarge();
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
            await patchFirst(`10.1.${++patches}.0`);
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
    const { clock, gateway, primary, until, patchFirst } = await openLarge();
    const transfer = primary.of("")!;
    const { epoch, recent } = transfer.state();
    const of = { zone: "clusterset", namespace: "shop", label: "many", epoch, v: recent.join("-") };
    const query = new URLSearchParams(of);
    const { position } = gateway.state;
    const part = transfer.part("key", (name) => query.get(name) ?? "");
    expect(part).toBeInstanceOf(Promise);
    for (let turns = 0; turns < 3; turns++) await clock.turn();
    await patchFirst("10.1.77.0");
    const bytes = (await until(part as Promise<Uint8Array<ArrayBuffer>>))!;
    expect(Buffer.from(bytes).includes(Buffer.from([10, 1, 77, 0]))).toBe(false);
    expect(readKey(bytes).at).toBe(position);
    expect(gateway.state.position).toBeGreaterThan(position);
  });
});

describe("the reverse name of an address that many large services have in a scope", () => {
  const many = numbered(2500, bare);
  const keys = ["shop/one", "shop/two", "shop/three"];
  const each = <Service>(service: Service) => Object.fromEntries(keys.map((key) => [key, service]));
  const of = endpoints(...many);
  const exports = each(exported({ headless: true, endpoints: of }));
  const shared = each(exported({ endpoints: of }));
  const imports = each(imported({ ips: ["10.1.0.0"], endpoints: { west: of } }));

  it.each<[string, Visibility, Partial<ClusterSnapshot>, ofWest?: Partial<ClusterSnapshot>]>([
    ["of some ranges", { addressRanges: ["10.0.0.0/8"] }, { exports }],
    ["of some sources", { addressSources: ["Endpoint"] }, { exports }],
    ["of some clusters, which export them", { clusters: ["east", "west"] }, { exports }],
    ["of some clusters, with addresses of their own", { clusters: ["east"] }, { exports: shared }],
    ["of some clusters, which import them", { clusters: ["east", "west"] }, { imports }],
    ["of some clusters, which import from another one", { clusters: ["east", "north"] }, { imports }],
    [
      "of some clusters, in the view of one",
      { clusters: ["east", "west"] },
      { exports: shared },
      { imports },
    ],
  ])("%s is found without reading one of them in place", async (_, scope, parts, ofWest) => {
    const view = ofWest && "west";
    const open = async (charactersInPlace?: number) => {
      const clock = new TurningClock();
      const names = { zones: {}, merging: { grants: new Map([["east", "*" as const]]) }, charactersInPlace };
      const gateway = openKeyed({ clock, scopes: [scope], names });
      await putSnapshot(gateway, snapshot("east", parts), { leaseSeconds: 3600 });
      if (ofWest !== undefined) await putSnapshot(gateway, snapshot("west", ofWest), { leaseSeconds: 3600 });
      return () =>
        gateway.within(scope).answer(encodeQuery("0.0.1.10.in-addr.arpa", "PTR"), view, clock.now());
    };
    const [ask, askInPlace] = [await open(), await open(Number.POSITIVE_INFINITY)];
    const reads = vi.spyOn(Reader.prototype, "entry");
    const answer = decode((await ask())!.bytes);
    expect(reads.mock.calls.filter(([, , name]) => keys.includes(name))).toEqual([]);
    reads.mockRestore();
    expect(answer).toEqual(decode((await askInPlace())!.bytes));
  });
});

it("the reverse name of an address that many services import in a scope is found without reading them all for each query", async () => {
  const clock = new TurningClock();
  const scope = { clusters: ["east", "west"] };
  const names = { zones: {}, merging: { grants: new Map([["east", "*" as const]]) } };
  const gateway = openKeyed({ clock, scopes: [scope], names });
  const from = { ips: ["10.1.0.0"], endpoints: { west: endpoints(...numbered(400, bare)) } };
  const keys = numbered(20, (index) => [`shop/web-${index}`, imported(from)]);
  await putSnapshot(gateway, snapshot("east", { imports: Object.fromEntries(keys) }), { leaseSeconds: 3600 });
  const query = encodeQuery("0.0.1.10.in-addr.arpa", "PTR");
  const first = await gateway.within(scope).answer(query, undefined, clock.now());
  const reads = vi.spyOn(Reader.prototype, "entry");
  expect(answerNow(gateway.within(scope), query, undefined, clock.now()).bytes).toEqual(first!.bytes);
  expect(reads.mock.calls.filter(([, kind]) => kind === Kind.import).length).toBeLessThan(10);
  reads.mockRestore();
});

describe("a namespace of many services without names", () => {
  /** How a query for the namespace is answered, and which services it compiles before any turn. */
  const askFor = async (services: number) => {
    const clock = new TurningClock();
    const gateway = openKeyed({ clock });
    const members = numbered(200, (index) => ({ ...endpoint(index), ready: false }));
    const service = exported({ headless: true, endpoints: endpoints(...members) });
    const exports = Object.fromEntries(numbered(services, (index) => [`shop/s${index}`, service]));
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
    const clock = new TurningClock();
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
    const many = numbered(20, (index) => `shop/s${index}`);
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

  it("are waited for in another namespace, although 10,000 queries wait in one, and no further query may", async () => {
    const ask = await open(["shop/web", "bank/web"]);
    const outcomes = numbered(10_001, () => ask("shop/web"));
    const other = ask("bank/web");
    expect(await outcomes.at(-1)).toBe("servfail");
    expect(await other).toBe("answer");
    expect(new Set(await Promise.all(outcomes.slice(0, -1)))).toEqual(new Set(["answer"]));
    expect(await ask("shop/web")).toBe("answer");
  });
});
