import { afterAll, beforeAll } from "vitest";
import { describeSharedLog } from "../../replica/contract.ts";
import { FaultProxy } from "../servers/network.ts";
import { RedisLogs } from "./redis-logs.ts";

let logs: RedisLogs;

beforeAll(async () => {
  logs = await RedisLogs.start();
});

afterAll(() => logs?.redis.process.stop());

describeSharedLog("Redis", async () => {
  const prefix = logs.newPrefix();
  const closing: (() => Promise<void>)[] = [];
  return {
    async connect() {
      const network = await FaultProxy.start(logs.redis.port);
      const log = await logs.open(prefix, { url: `redis://127.0.0.1:${network.port}` });
      closing.push(() => network.close());
      return { log, disconnect: () => void network.refuse(), reconnect: () => void network.heal() };
    },
    async trim() {
      await logs.onKey(prefix, "XTRIM", "log", "MAXLEN", "1");
    },
    async close() {
      for (const close of closing) await close();
    },
  };
});
