import { beforeEach, describe, expect, test } from "vitest";
import { ClusterHistory, GatewayView } from "./pushed-states.ts";

let east: ClusterHistory;
let west: ClusterHistory;
let view: GatewayView;

beforeEach(() => {
  east = new ClusterHistory("east", 1);
  west = new ClusterHistory("west", 2);
  view = new GatewayView([east, west]);
});

const judge = (...addresses: string[]) => view.judge(view.floors, addresses);

/** A state that a gateway acknowledged. */
function acknowledged(history: ClusterHistory, ...addresses: string[]) {
  const state = history.add(addresses);
  state.sent();
  history.acknowledge(state, history.losses);
  return state;
}

describe("the model accepts", () => {
  test("no addresses before the first push", () => expect(judge()).toBeUndefined());

  test("of each cluster another state", () => {
    acknowledged(east, "10.1.0.1", "10.1.255.1");
    acknowledged(west, "10.2.0.1");
    expect(judge("10.2.0.1", "10.1.255.1", "10.1.0.1")).toBeUndefined();
  });

  test("a state in flight and the one before it, until it was answered and acknowledged", () => {
    const first = acknowledged(east, "10.1.0.1");
    view.acknowledged(east, first, east.losses);
    const second = east.add(["10.1.0.2"]);
    second.sent();
    expect(judge("10.1.0.2")).toBeUndefined();
    expect(judge("10.1.0.1")).toBeUndefined();
    east.acknowledge(second, east.losses);
    expect(judge("10.1.0.1")).toBeUndefined();
    expect(judge("10.1.0.2")).toBeUndefined();
    expect(judge("10.1.0.1")).toMatch(/from its state 1 \[[^\]]*\]; its oldest right state is 2/);
  });

  test("an older state where another gateway acknowledged the newer one, until a restart", () => {
    view.acknowledged(east, acknowledged(east, "10.1.0.1"), east.losses);
    acknowledged(east, "10.1.0.2");
    expect(judge("10.1.0.1")).toBeUndefined();
    view.restarted();
    expect(judge("10.1.0.1")).toMatch(/oldest right state is 2/);
  });

  test("an answer to a query that began before the acknowledgement", () => {
    view.acknowledged(east, acknowledged(east, "10.1.0.1"), east.losses);
    const { floors } = view;
    view.acknowledged(east, acknowledged(east, "10.1.0.2"), east.losses);
    expect(view.judge(floors, ["10.1.0.1"])).toBeUndefined();
    expect(judge("10.1.0.1")).toMatch(/oldest right state is 2/);
  });

  test("older states once the engine lost its data, but none at all only after a restart", () => {
    acknowledged(east, "10.1.0.1");
    view.acknowledged(east, acknowledged(east, "10.1.0.2"), east.losses);
    const west1 = acknowledged(west, "10.2.0.1").addresses;
    east.lost();
    west.lost();
    view.lost();
    expect(judge("10.1.0.1", ...west1)).toBeUndefined();
    expect(judge(...west1)).toMatch(
      /answers for east from its state 0 \[[^\]]*\]; its oldest right state is 1/,
    );
    expect(view.mayBeEmpty).toBe(false);
    view.restarted();
    expect(view.mayBeEmpty).toBe(true);
    expect(judge()).toBeUndefined();
  });

  test("older states than it answered from while the engine loses data, but not than it answered from since", () => {
    const others = acknowledged(west, "10.2.0.1").addresses;
    const first = [...others, ...acknowledged(east, "10.1.0.1").addresses];
    east.losing();
    view.losing();
    const { floors } = view;
    const second = [...others, ...acknowledged(east, "10.1.0.2").addresses];
    expect(judge(...second)).toBeUndefined();
    expect(judge(...first)).toBeUndefined();
    east.lost();
    view.lost();
    expect(view.judge(floors, second)).toBeUndefined();
    expect(judge(...first)).toBeUndefined();
    expect(judge(...second)).toBeUndefined();
    expect(judge(...first)).toMatch(/oldest right state is 2/);
  });

  test("older states after an acknowledgement from before the loss, but not after one since", () => {
    view.acknowledged(east, acknowledged(east, "10.1.0.1"), east.losses);
    const late = acknowledged(east, "10.1.0.2");
    const before = east.losses;
    east.lost();
    view.restarted();
    view.acknowledged(east, late, before);
    expect(judge("10.1.0.1")).toBeUndefined();
    view.acknowledged(east, acknowledged(east, "10.1.0.3"), east.losses);
    expect(judge("10.1.0.2")).toMatch(/oldest right state is 3/);
  });
});

describe("the model rejects", () => {
  test("what was acknowledged here and is missing", () => {
    view.acknowledged(east, acknowledged(east, "10.1.0.1"), east.losses);
    expect(judge()).toMatch(/answers for east from its state 0 \[[^\]]*\]; its oldest right state is 1/);
  });

  test("a part of a state, and a mixture of two", () => {
    acknowledged(east, "10.1.0.1", "10.1.255.1");
    acknowledged(east, "10.1.0.2", "10.1.255.1");
    expect(judge("10.1.255.1")).toMatch(/which it never had/);
    expect(judge("10.1.0.1", "10.1.0.2", "10.1.255.1")).toMatch(/which it never had/);
  });

  test("a state that every gateway rejected, but not one that was sent again", () => {
    const state = east.add(["10.1.0.1"]);
    state.sent();
    state.rejected();
    expect(judge("10.1.0.1")).toMatch(/which was rejected/);
    state.sent();
    expect(judge("10.1.0.1")).toBeUndefined();
  });

  test("an address of no cluster", () => expect(judge("10.9.0.1")).toMatch(/which no cluster has/));
});
