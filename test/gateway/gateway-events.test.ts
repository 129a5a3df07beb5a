import { describe, expect, test } from "vitest";
import { type GatewayEvent, levelOf } from "../../src/gateway/gateway-events.ts";
import { GenerationMismatch } from "../../src/gateway/gateway-types.ts";

const error = new Error("disk full");

describe("an event is logged", () => {
  test.each<[ReturnType<typeof levelOf>, GatewayEvent]>([
    ["error", { event: "removal-failed", clusterId: "west", error }],
    ["error", { event: "compile-failed", error }],
    ["error", { event: "store-failed", clusterId: "west", error }],
    ["error", { event: "memory-not-kept", record: "exports@west", error }],
    ["warn", { event: "worker-degraded", clusterId: "west", degraded: [] }],
    ["warn", { event: "lease-expired", clusterId: "west", expiredAt: 1 }],
    ["warn", { event: "compiles-everything", because: "a note is damaged" }],
    ["warn", { event: "memory-lost", record: "exports@west" }],
    ["warn", { event: "founding-void", at: 1, now: 0 }],
    ["warn", { event: "store-works-again" }],
    ["info", { event: "worker-recovered", clusterId: "west" }],
    ["info", { event: "left", clusterId: "west" }],
    ["info", { event: "pushed", clusterId: "west", generation: 1, kind: "patch" }],
  ])("with level %s: %j", (level, event) => {
    expect(levelOf(event)).toBe(level);
  });

  test("with level warn where a copy of a record is damaged, lost or not", () => {
    const damage = { record: "exports@west", place: "precedence", lost: true, message: "it is empty" };
    expect(levelOf({ event: "memory-damaged", ...damage })).toBe("warn");
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
