import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { metaOf } from "../../store/changes.ts";
import { describeSharedLog } from "../../store/shared/contract.ts";
import { Replica } from "../../store/shared/replica.ts";
import { FaultProxy } from "../servers/network.ts";
import { patch, RedisLogs } from "./redis-logs.ts";

let logs: RedisLogs;

beforeAll(async () => {
  logs = await RedisLogs.start();
});

afterAll(() => logs?.redis.process.stop());

/** Removes all keys under a prefix, and makes them what copies of them are, at once. */
const RESTORE = `
for _, key in ipairs(redis.call('KEYS', ARGV[1] .. ':*')) do redis.call('DEL', key) end
local copies = ARGV[2] .. ':'
for _, key in ipairs(redis.call('KEYS', copies .. '*')) do redis.call('COPY', key, ARGV[1] .. ':' .. string.sub(key, #copies + 1)) end
return 'OK'`;

describeSharedLog("Redis", async () => {
  const prefix = logs.newPrefix();
  const closing: (() => Promise<void>)[] = [];
  return {
    async connect() {
      const network = await FaultProxy.start(logs.redis.port);
      const { log } = await logs.open(prefix, { url: `redis://127.0.0.1:${network.port}` });
      closing.push(() => network.close());
      return { log, disconnect: () => void network.refuse(), reconnect: () => void network.heal() };
    },
    async trim() {
      await logs.onKey(prefix, "XTRIM", "log", "MAXLEN", "1");
    },
    async checkpoint() {
      const copy = logs.newPrefix();
      for (const key of await logs.keys(prefix)) await logs.onKey(prefix, "COPY", key, `{${copy}}:${key}`);
      return async () => {
        await logs.redis.run("EVAL", RESTORE, "0", `{${prefix}}`, `{${copy}}`);
      };
    },
    async close() {
      for (const close of closing) await close();
    },
  };
});

/** A replica with the change that it builds on next. */
async function startReplica(prefix: string) {
  const { log } = await logs.open(prefix);
  return Replica.start(log);
}

describe("an engine", () => {
  test("that stops for longer than a gateway waits carries the change out later: it is among the entries, and nothing is built on the one before", async () => {
    const { log, base, prefix } = await logs.withWest();
    const replica = await Replica.start(log);
    logs.redis.process.signal("SIGSTOP");
    // A renewal is one command; a patch reads values first, and is not sent.
    const renewal = { kind: "lease", meta: metaOf(1, 99_999) } as const;
    const late = log.append({ clusterId: "west", base, change: renewal });
    await expect(late).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.stringContaining("no reply"),
    });
    await replica.until(({ connections }) => connections.length === 1);
    expect(replica.connections[0]).toContain("no reply");
    logs.redis.process.signal("SIGCONT");
    await replica.until(({ position }) => position === 2);
    const again = log.append({ clusterId: "west", base, change: patch(1, 3) });
    await expect(again).rejects.toMatchObject({ code: "BASE_CHANGED" });
    expect(replica.entries).toMatchObject([{ kind: "lease", meta: metaOf(1, 99_999) }]);
    expect(replica.state).toEqual((await startReplica(prefix)).state);
    await log.close();
  });

  test("whose route is lost without a word is noticed, and followed again over another connection", async () => {
    const { log, base, prefix } = await logs.withWest();
    const network = await FaultProxy.start(logs.redis.port);
    const far = await logs.open(prefix, { url: `redis://127.0.0.1:${network.port}` });
    const replica = await Replica.start(far.log);
    network.swallow();
    await log.append({ clusterId: "west", base, change: patch(1) });
    await replica.until(({ connections }) => connections.length === 1);
    expect(replica.position).toBe(1);
    await network.heal();
    await replica.until(({ position }) => position === 2);
    expect(replica.reloads).toEqual([]);
    await Promise.all([log.close(), far.log.close()]);
    await network.close();
  });
});
