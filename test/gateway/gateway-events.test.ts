import { describe, expect, test } from "vitest";
import { type GatewayEvent, GenerationMismatch, levelOf } from "../../src/gateway/gateway-types.ts";

const error = new Error("disk full");

describe("an event is logged", () => {
  test.each<[ReturnType<typeof levelOf>, GatewayEvent]>([
    ["error", { event: "desired-failed", error }],
    ["error", { event: "store-failed", clusterId: "west", error }],
    ["error", { event: "log-damaged", clusterId: "west", error }],
    ["warn", { event: "worker-degraded", clusterId: "west", degraded: [] }],
    ["warn", { event: "other-instance", clusterId: "west", holder: "one", instance: "two" }],
    ["warn", { event: "lease-expired", clusterId: "west", expiredAt: 1 }],
    ["warn", { event: "rows-damaged", cluster: "west", key: "shop/web" }],
    ["warn", { event: "store-works-again" }],
    ["warn", { event: "log-not-followed", reason: "connection refused" }],
    ["warn", { event: "log-followed-again" }],
    ["warn", { event: "log-reloaded", lost: true }],
    ["info", { event: "worker-recovered", clusterId: "west" }],
    ["info", { event: "other-instance-gone", clusterId: "west", instance: "two" }],
    ["info", { event: "left", clusterId: "west" }],
    ["info", { event: "pushed", clusterId: "west", generation: 1, kind: "patch" }],
  ])("with level %s: %j", (level, event) => {
    expect(levelOf(event)).toBe(level);
  });
});

test("a push on another generation is told what is held, and what to send", () => {
  expect(new GenerationMismatch(7)).toMatchObject({
    current: 7,
    message: "generation 7 is held, not the one named: send a full snapshot with PUT",
  });
  expect(new GenerationMismatch(undefined)).toMatchObject({
    current: undefined,
    message: "no snapshot of this cluster is held: send a full snapshot with PUT",
  });
});
