import { describe, expect, test } from "vitest";
import type { GatewayEvent } from "../../../src/gateway/gateway-events.ts";
import { DecidedOrders } from "../../../src/gateway/replica/decided-orders.ts";
import { drain } from "../../../src/snapshot/drain.ts";
import type { AddressOrders, SharedLog } from "../../../src/store/shared/shared-log.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { ClaimOrders } from "../../../src/zone/reverse/claim-orders.ts";
import { LOST } from "../../../src/zone/reverse/reverse-order.ts";
import { FakeClock } from "../fake-clock.ts";

const ONE = "0a000001";
const OTHER = "0a000002";
const EAST_FIRST = ["east shop/web", "west shop/api"];
const WEST_FIRST = ["west shop/api", "east shop/web"];
const UNKNOWN = [LOST, ...EAST_FIRST];
const SCOPE = '{"clusters":["east","west"]}';

function decidedOrders(orders: AddressOrders = {}) {
  const decisions: [AddressOrders, AddressOrders][] = [];
  const positions: number[] = [];
  const events: GatewayEvent[] = [];
  const clock = new FakeClock();
  let failure: Error | undefined;
  const log: Pick<SharedLog, "decide"> = {
    async decide(orders, before, position) {
      if (failure !== undefined) throw failure;
      decisions.push([orders, before]);
      positions.push(position);
    },
  };
  const state = { mayDecide: true };
  const decided = new DecidedOrders(
    log as SharedLog,
    orders,
    clock,
    (event) => events.push(event),
    () => state.mayDecide,
  );
  const compile = (scope: string, orders: AddressOrders, position?: number) => {
    drain(decided.update(scope, ClaimOrders.none.with(new Map(Object.entries(orders) as [])), position));
    return decided.kept();
  };
  const fail = (error: Error | undefined) => {
    failure = error;
  };
  return { decided, decisions, positions, events, clock, compile, fail, state };
}

describe("orders that gateways of a log decide", () => {
  test("are decided with the newest entry that they know, and again where the log did not take them", async () => {
    const { compile, decided, decisions, positions } = decidedOrders();
    await compile("", { [ONE]: WEST_FIRST }, 7);
    // A cluster left meanwhile, and came back: the order is the same again.
    await compile("", { [ONE]: WEST_FIRST }, 9);
    expect([decisions.length, positions]).toEqual([2, [7, 9]]);
    decided.adopt({ [ONE]: WEST_FIRST });
    await compile("", { [ONE]: WEST_FIRST }, 11);
    expect(positions).toEqual([7, 9]);
  });

  test("a gateway that answers something that the log lost decides nothing until it holds what the log has", async () => {
    const { compile, decided, decisions, state } = decidedOrders();
    state.mayDecide = false;
    await compile("", { [ONE]: WEST_FIRST });
    expect(decisions).toEqual([]);
    state.mayDecide = true;
    await decided.kept();
    expect(decisions).toEqual([[{ [ONE]: WEST_FIRST }, {}]]);
  });

  test("an order that is not decided so is decided, with what the decision builds on", async () => {
    const { compile, decisions } = decidedOrders({ [ONE]: EAST_FIRST, [OTHER]: EAST_FIRST });
    await compile("", { [ONE]: WEST_FIRST, [OTHER]: EAST_FIRST });
    expect(decisions).toEqual([[{ [ONE]: WEST_FIRST }, { [ONE]: EAST_FIRST }]]);
  });

  test("an order that is not needed any more is taken out of the log", async () => {
    const { decided, compile, decisions } = decidedOrders({ [ONE]: EAST_FIRST });
    decided.history("", new Set());
    await compile("", {});
    expect(decisions).toEqual([[{ [ONE]: null }, { [ONE]: EAST_FIRST }]]);
  });

  test("each scope begins with its own decisions, and decides for itself", async () => {
    const { decided, compile, decisions } = decidedOrders({
      [ONE]: EAST_FIRST,
      [`${SCOPE} ${ONE}`]: WEST_FIRST,
    });
    expect([...decided.history("", new Set()).orders]).toEqual([[ONE, EAST_FIRST]]);
    expect([...decided.history(SCOPE, new Set()).orders]).toEqual([[ONE, WEST_FIRST]]);
    await compile(SCOPE, { [ONE]: WEST_FIRST, [OTHER]: EAST_FIRST });
    expect(decisions).toEqual([[{ [`${SCOPE} ${OTHER}`]: EAST_FIRST }, {}]]);
  });

  test("that nobody knows who came first is decided when others had time to say who", async () => {
    const { compile, decisions, clock } = decidedOrders();
    await compile("", { [ONE]: UNKNOWN });
    await clock.advance(4999);
    expect(decisions).toEqual([]);
    await clock.advance(1);
    expect(decisions).toEqual([[{ [ONE]: UNKNOWN }, {}]]);
  });

  test("who came first by the decision of another gateway is not decided again", async () => {
    const { decided, compile, decisions, clock } = decidedOrders();
    await compile("", { [ONE]: UNKNOWN });
    expect(decided.adopt({ [ONE]: EAST_FIRST })).toEqual([ONE]);
    expect(decided.changesIn("", [ONE])).toEqual(new Map([[ONE, EAST_FIRST]]));
    await compile("", { [ONE]: EAST_FIRST });
    await clock.advance(60_000);
    expect(decisions).toEqual([]);
  });

  test("what cannot be decided is reported once, and decided as soon as it can", async () => {
    const { decided, compile, decisions, events, fail } = decidedOrders();
    const error = new StoreError("STORE_FAILED", "gone");
    fail(error);
    await compile("", { [ONE]: EAST_FIRST });
    await decided.kept();
    expect(events).toEqual([{ event: "memory-not-kept", record: "addresses", error }]);
    fail(undefined);
    await decided.kept();
    expect(decisions).toEqual([[{ [ONE]: EAST_FIRST }, {}]]);
  });

  test("what a log lost is decided again from what is answered", async () => {
    const { decided, compile, decisions } = decidedOrders({ [ONE]: EAST_FIRST });
    decided.history("", new Set());
    expect(decided.replace({})).toEqual([ONE]);
    await compile("", { [ONE]: [...EAST_FIRST] });
    expect(decisions).toEqual([[{ [ONE]: EAST_FIRST }, {}]]);
  });
});
