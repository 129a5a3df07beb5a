import { describe, expect, it } from "vitest";
import { drain } from "../../../src/snapshot/drain.ts";
import { ZoneCompiler } from "../../../src/zone/compiler/zone-compiler.ts";
import { ClaimOrders } from "../../../src/zone/reverse/claim-orders.ts";
import { ContestedAddresses } from "../../../src/zone/reverse/contested/contested-addresses.ts";
import { ReverseLosses } from "../../../src/zone/reverse/contested/reverse-losses.ts";
import { NO_HISTORY } from "../../../src/zone/reverse/reverse-history.ts";
import { addressKey, LOST } from "../../../src/zone/reverse/reverse-order.ts";
import { day, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { source } from "../compile-worlds.ts";

const key = (last: number) => addressKey(Uint8Array.of(10, 0, 0, last));
const v6 = addressKey(Uint8Array.of(0xfd, ...new Array(14).fill(0), 1));
const EAST = "east shop/web";
const WEST = "west ops/db";

function turnsOf(steps: Generator<void, unknown>): number {
  let turns = 0;
  while (steps.next().done !== true) turns++;
  return turns;
}

describe("the reverse names that claims did not get", () => {
  it("are a finding for each claim, which names the first claim", () => {
    const losses = new ReverseLosses();
    losses.set(key(1), EAST, [WEST]);
    expect(drain(losses.findings())).toEqual([
      {
        ...{ clusterId: "west", reason: "ReverseNameTaken", kind: "Service", namespace: "ops", name: "db" },
        message: 'other clusters had the reverse names first: 10.0.0.1 is of shop/web in "east"',
      },
    ]);
  });

  it("list the lowest five addresses, IPv4 first, and count the others", () => {
    const losses = new ReverseLosses();
    for (const last of [9, 3, 5, 1, 7]) losses.set(key(last), EAST, [WEST]);
    const message = () => drain(losses.findings())[0]!.message;
    const of = (last: number) => `10.0.0.${last} is of shop/web in "east"`;
    const start = "other clusters had the reverse names first: ";
    expect(message()).toBe(start + [1, 3, 5, 7, 9].map(of).join(", "));
    losses.set(v6, EAST, [WEST]);
    expect(message()).toBe(`${start}${[1, 3, 5, 7, 9].map(of).join(", ")}, and of 1 more addresses`);
    losses.set(key(4), EAST, [WEST]);
    expect(message()).toBe(`${start}${[1, 3, 4, 5, 7].map(of).join(", ")}, and of 2 more addresses`);
    for (const last of [1, 3, 4, 5]) losses.set(key(last), EAST, []);
    expect(message()).toBe(`${start}${[7, 9].map(of).join(", ")}, fd00::1 is of shop/web in "east"`);
  });

  it("are gone with the loss, also of a claim that lost with two names", () => {
    const losses = new ReverseLosses();
    losses.set(key(1), EAST, [WEST, WEST]);
    expect(drain(losses.findings())).toHaveLength(1);
    losses.set(key(1), EAST, []);
    expect(drain(losses.findings())).toEqual([]);
  });

  it("say of a lost order that nobody has the name", () => {
    const losses = new ReverseLosses();
    losses.set(key(1), LOST, [WEST, EAST]);
    const findings = drain(losses.findings());
    expect(findings.map(({ clusterId }) => clusterId)).toEqual(["west", "east"]);
    expect(findings[0]!.message).toContain(
      "10.0.0.1 (who had it was lost: nobody has it until one cluster reports it alone)",
    );
  });

  it("are the same list until one changes, and other claims keep their findings", () => {
    const losses = new ReverseLosses();
    losses.set(key(1), EAST, [WEST]);
    losses.set(key(2), WEST, [EAST]);
    const before = drain(losses.findings());
    losses.set(key(3), EAST, []);
    expect(drain(losses.findings())).toBe(before);
    losses.set(key(1), "north shop/web", [WEST]);
    const after = drain(losses.findings());
    expect(after).not.toBe(before);
    expect(after.map(({ clusterId }) => clusterId).sort()).toEqual(["east", "west"]);
    const of = (findings: typeof after, cluster: string) =>
      findings.find(({ clusterId }) => clusterId === cluster)!;
    expect(of(after, "east")).toBe(of(before, "east"));
    expect(of(after, "west").message).toContain('is of shop/web in "north"');
    losses.set(key(1), EAST, []);
    losses.set(key(2), EAST, [WEST]);
    expect(
      drain(losses.findings()).map(({ clusterId, message }) => [clusterId, message.slice(44, 53)]),
    ).toEqual([["west", "10.0.0.2 "]]);
  });

  it("are found in steps of some thousand addresses", () => {
    const losses = new ReverseLosses();
    for (let index = 0; index < 3000; index++)
      losses.set(addressKey(Uint8Array.of(10, 1, index >> 8, index)), EAST, [`c${index} shop/web`]);
    expect(turnsOf(losses.findings())).toBe(2);
    expect(drain(losses.findings())).toHaveLength(3000);
  });
});

describe("contested addresses", () => {
  it("are those in whose order a service has a claim", () => {
    const contested = new ContestedAddresses();
    const services = () =>
      ["shop/web", "ops/db", "shop/no"].map((service) => [...contested.of(service)].sort());
    let orders = ClaimOrders.none.with(
      new Map([
        [key(1), [EAST, WEST]],
        [key(2), [EAST]],
      ]),
    );
    drain(contested.follow(orders));
    expect(services()).toEqual([[key(1), key(2)], [key(1)], []]);
    orders = orders.with(
      new Map([
        [key(1), [EAST]],
        [key(2), undefined],
        [key(3), [WEST]],
      ]),
    );
    drain(contested.follow(orders));
    expect(services()).toEqual([[key(1)], [key(3)], []]);
    drain(contested.follow(ClaimOrders.none));
    expect(services()).toEqual([[], [], []]);
    drain(contested.follow(ClaimOrders.none.with(new Map([[key(1), [EAST, "west shop/web"]]]))));
    expect(services()).toEqual([[key(1)], [], []]);
    drain(contested.follow(ClaimOrders.none));
    expect(services()).toEqual([[], [], []]);
  });

  it("are followed, and orders changed, in steps", () => {
    const changes = new Map(
      Array.from({ length: 450 }, (_, index) => [
        addressKey(Uint8Array.of(10, 2, index >> 8, index)),
        [EAST],
      ]),
    );
    expect(turnsOf(ClaimOrders.none.withInSteps(changes))).toBe(Math.floor(450 / 64));
    expect(turnsOf(new ContestedAddresses().follow(ClaimOrders.none.with(changes)))).toBe(2);
    expect(ClaimOrders.none.with(new Map())).toBe(ClaimOrders.none);
  });
});

it("a finding names the oldest of the clusters that report a service's clusterset IP", () => {
  const reporting = (clusterId: string, key: string, exportedAt: string) =>
    snapshot(clusterId, {
      exports: { [key]: exported({ exportedAt }) },
      imports: { [key]: imported({ ips: ["10.0.0.1"] }) },
    });
  const clusters = [
    reporting("east", "shop/web", day(2)),
    reporting("north", "shop/db", day(3)),
    reporting("west", "shop/web", day(1)),
  ];
  const compiler = new ZoneCompiler();
  const { findings } = drain(compiler.compile(source(clusters), "all", { serial: 1, history: NO_HISTORY }));
  expect(findings.map(({ clusterId, message }) => [clusterId, message])).toEqual([
    ["north", 'other clusters had the reverse names first: 10.0.0.1 is of shop/web in "west"'],
  ]);
});
