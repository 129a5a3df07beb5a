import { expect, test } from "vitest";
import type { LogChange } from "../../../src/store/shared/shared-log.ts";
import { metaOf, snapshotOf, wholeOf } from "../changes.ts";
import { describeSharedLog } from "./contract.ts";
import { MemoryLog } from "./memory-log.ts";
import { Replica } from "./replica.ts";

describeSharedLog("memory", async () => {
  const memory = new MemoryLog();
  return {
    async connect() {
      const log = memory.connect();
      return { log, disconnect: () => log.disconnect(), reconnect: () => log.reconnect() };
    },
    trim: async () => memory.trim(),
    async checkpoint() {
      const { position } = memory;
      return async () => memory.loseLast(memory.position - position);
    },
    close: async () => {},
  };
});

const whole = wholeOf(snapshotOf("west", 1), metaOf(1)) as LogChange;

test("a change whose reply is lost is among the entries", async () => {
  const memory = new MemoryLog();
  const log = memory.connect();
  const replica = await Replica.start(log);
  log.loseReplies();
  const draft = { clusterId: "west", base: undefined, change: whole };
  await expect(log.append(draft)).rejects.toMatchObject({ code: "STORE_FAILED" });
  await memory.settled();
  expect(replica.entries).toMatchObject([{ kind: "snapshot", clusterId: "west" }]);
});

test("entries wait while a gateway is held", async () => {
  const memory = new MemoryLog();
  const [log, other] = [memory.connect(), memory.connect()];
  const [replica, ahead] = [await Replica.start(log), await Replica.start(other)];
  log.hold();
  await log.append({ clusterId: "west", base: undefined, change: whole });
  await memory.settled();
  expect([replica.position, ahead.position]).toEqual([0, 1]);
  log.release();
  await memory.settled();
  expect(replica.state).toEqual(ahead.state);
});
