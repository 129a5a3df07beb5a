import { afterEach, describe, expect, it } from "vitest";
import { Reader } from "../../../src/database/reader.ts";
import { Writer } from "../../../src/database/writer.ts";
import { KeyedGateway } from "../../../src/gateway/keyed/keyed-gateway.ts";
import { resolve } from "../../../src/resolve/resolve.ts";
import { DRIVERS } from "../../database/databases.ts";
import { NOON, stage, wholeLines } from "../../database/pushing.ts";
import { endpoints, exported, snapshot } from "../../merge/fixtures.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { FakeClock } from "../fake-clock.ts";

const TERMS = { lease: 60_000, degraded: [], instance: undefined };
const CONTESTED = "10.1.0.9";

/** A headless service with addresses, of a cluster. */
function cluster(id: string, name: string, exportedAt: string, ...addresses: string[]) {
  const members = addresses.map((address) => ({ address }));
  const service = exported({ headless: true, exportedAt, endpoints: endpoints(...members) });
  return snapshot(id, { exports: addresses.length === 0 ? {} : { [`shop/${name}`]: service } });
}

class World {
  readonly clock = new FakeClock(NOON);
  readonly database = DRIVERS[0]![1]();
  #writer!: Writer;
  #gateway!: KeyedGateway;

  constructor() {
    this.restart();
  }

  restart(): void {
    this.#writer = new Writer(this.database, () => {});
    const reader = new Reader(this.database, () => {});
    this.#gateway = new KeyedGateway({
      writer: this.#writer,
      reader,
      clock: this.clock,
      settings: { zones: {}, merging: {} },
    });
  }

  push(pushed: ReturnType<typeof cluster>): void {
    const { clusterId } = pushed;
    this.#gateway.push(stage(this.#writer.reader, clusterId, "whole", wholeLines(pushed)), TERMS);
  }

  leave(id: string): void {
    this.#gateway.leave(id);
  }

  damage(id: string): void {
    this.#writer.apply({ kind: "damage", cluster: id });
    this.restart();
  }

  /** The cluster in the target of the address's PTR record; undefined if it has none. */
  get owner(): string | undefined {
    const now = this.clock.now();
    const { world, leases } = this.#gateway.answersIn({}, now)!;
    const context = {
      generation: world,
      leases,
      now,
      rotation: 0,
      view: undefined,
      outside: "refuse",
    } as const;
    const [answer] = decode(resolve(encodeQuery("9.0.1.10.in-addr.arpa", "PTR"), context)!.bytes).answer;
    return answer?.split(" ")[3]?.split(".")[1];
  }
}

let world = new World();
afterEach(() => {
  world.database.close();
  world = new World();
});

const west = cluster("west", "web", "2026-03-01T00:00:00Z", CONTESTED);
const east = cluster("east", "db", "2026-01-01T00:00:00Z", CONTESTED);

describe("the reverse name of an address that two clusters report (SECURITY.md, Reverse names)", () => {
  it("stays with the cluster that reported it first, whatever the age of the exports", () => {
    world.push(west);
    world.push(east);
    expect(world.owner).toBe("west");
  });

  it("stays after a restart", () => {
    world.push(west);
    world.push(east);
    world.restart();
    expect(world.owner).toBe("west");
  });

  it("stays where the cluster reports the address for another service", () => {
    world.push(west);
    world.push(east);
    world.push(cluster("west", "other", "2026-05-01T00:00:00Z", CONTESTED));
    expect(world.owner).toBe("west");
  });

  it("is the other cluster's while the first is out for longer than its lease, and then the first's again", async () => {
    world.push(west);
    await world.clock.advance(59_000);
    world.push(east);
    await world.clock.advance(2000);
    expect(world.owner).toBe("east");
    world.push(west);
    expect(world.owner).toBe("west");
  });

  it.each([
    ["no longer reports it", () => world.push(cluster("west", "web", "2026-03-01T00:00:00Z", "10.1.0.1"))],
    ["leaves", () => world.leave("west")],
  ])("is the other cluster's once the first %s, and stays there when it comes back", (_, go) => {
    world.push(west);
    world.push(east);
    go();
    expect(world.owner).toBe("east");
    world.push(west);
    expect(world.owner).toBe("east");
  });

  it("is nobody's where it was lost with damaged rows who came first, until one reports it alone", () => {
    world.push(west);
    world.push(east);
    world.damage("west");
    expect(world.owner).toBe("east");
    world.push(west);
    expect(world.owner).toBeUndefined();
    world.push(cluster("east", "db", "2026-01-01T00:00:00Z", "10.1.0.1"));
    expect(world.owner).toBe("west");
  });

  it("costs the first cluster nothing where the other one claims it for many services", () => {
    const service = exported({ headless: true, endpoints: endpoints({ address: CONTESTED }) });
    const many = Object.fromEntries(
      Array.from({ length: 50 }, (_, index) => [`shop/many-${index}`, service]),
    );
    world.push(west);
    world.push(snapshot("east", { exports: many }));
    expect(world.owner).toBe("west");
    expect(new Reader(world.database, () => {}).claimsOn(Uint8Array.of(10, 1, 0, 9))).toHaveLength(9);
    world.leave("west");
    expect(world.owner).toBe("east");
  });
});
