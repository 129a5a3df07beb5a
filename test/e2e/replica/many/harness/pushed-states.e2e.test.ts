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
