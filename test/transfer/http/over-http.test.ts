import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { waitingClock } from "../../../src/gateway/clock.ts";
import { HttpTransferSource } from "../../../src/transfer/http-source.ts";
import { PartMemory } from "../../../src/transfer/part-cache.ts";
import { DEFAULT_REFRESH_POLICY } from "../../../src/transfer/refresh-schedule.ts";
import { Secondary } from "../../../src/transfer/secondary.ts";
import { TransferKeys } from "../../../src/transfer/signature.ts";
import type { TransferEvent } from "../../../src/transfer/transfer-state.ts";
import { DEADLINE } from "../../deadline.ts";
import { Gateways, push, send } from "../../hosts/gateways.ts";
import { decode, encodeQuery } from "../../resolve/ask.ts";
import { extendedErrors } from "../../resolve/extended-errors.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { MEBIBYTE, READER_STAGES, WEB } from "../pair.ts";

const gateways = new Gateways();
afterAll(() => gateways.close());
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const credentials = [{ clusterId: "west", tokenSha256: sha256("west-token") }];

it("a secondary answers what a Node gateway serves, through its changes and its end", async () => {
  const folder = gateways.folder();
  writeFileSync(join(folder, "secondary.token"), "secondary-token\n");
  const gateway = await gateways.start(folder, {
    tls: false,
    push: { credentials },
    transfer: { credentials: [{ tokenFile: "secondary.token" }] },
  });
  const events: TransferEvent[] = [];
  // Time is what the test says, but for the primary's.
  let ahead = 0;
  const now = () => Date.now() + ahead;
  const secondary = new Secondary({
    source: new HttpTransferSource({ gateway: gateway.url, token: "secondary-token", clock: now }),
    stages: READER_STAGES,
    memory: new PartMemory(MEBIBYTE),
    clock: { ...waitingClock, now },
    // A busy machine is no failure.
    policy: {
      ...DEFAULT_REFRESH_POLICY,
      stateTimeout: 30_000,
      partTimeout: 30_000,
      wait: 30_000,
      firstWait: 30_000,
      retry: 1,
    },
    onEvent: (event) => events.push(event),
  });
  const ask = async () => {
    await secondary.freshen(now());
    const { bytes } = (await secondary.answer(encodeQuery(WEB, "A"), undefined, now()))!;
    const { rcode, answer } = decode(bytes);
    return { rcode, records: answer.length, errors: extendedErrors(bytes) };
  };

  expect(await ask()).toEqual({ rcode: "SERVFAIL", records: 0, errors: [14] });
  await push(gateway, shopSnapshot("west", 2), "west-token");
  ahead += 4001;
  expect(await ask()).toEqual({ rcode: "NOERROR", records: 2, errors: [] });
  await push(gateway, shopSnapshot("west", 3), "west-token");
  ahead += 4001;
  expect(await ask()).toEqual({ rcode: "NOERROR", records: 3, errors: [] });

  await gateways.stop(folder);
  ahead += 4001;
  expect(await ask()).toEqual({ rcode: "NOERROR", records: 3, errors: [3] });
  expect(events.map(({ event }) => event)).toEqual(["transfer-failed", "stale"]);
});

it("a Node gateway hands nothing to anybody unless configured, and to no push token", async () => {
  const closed = await gateways.start(gateways.folder(), { tls: false, push: { credentials } });
  expect((await send(closed, "/api/v1/transfer/state", { token: "west-token" })).status).toBe(404);
  const open = await gateways.start(gateways.folder(), {
    tls: false,
    push: { credentials },
    transfer: { credentials: [{ tokenSha256: sha256("secondary-token") }] },
  });
  const asked = async (token: string) => (await send(open, "/api/v1/transfer/state", { token })).status;
  expect([await asked("west-token"), await asked("secondary-token")]).toEqual([401, 200]);
  const pushed = await send(open, "/api/v1/clusters/west", { token: "secondary-token" });
  expect(pushed.status).toBe(401);
});

it("a Node gateway signs with the key of its file, and a secondary takes over nothing else", async () => {
  const folder = gateways.folder();
  const [key, next] = ["k".repeat(43), "n".repeat(43)];
  writeFileSync(join(folder, "transfer.key"), `${key}\n`, { mode: 0o600 });
  const gateway = await gateways.start(folder, {
    tls: false,
    push: { credentials },
    transfer: { credentials: [{ tokenSha256: sha256("secondary-token") }], keyFile: "transfer.key" },
  });
  await push(gateway, shopSnapshot("west", 2), "west-token");
  const stateWith = (...keys: string[]) =>
    new HttpTransferSource({
      gateway: gateway.url,
      token: "secondary-token",
      keys: new TransferKeys(keys),
    }).state(0, AbortSignal.timeout(DEADLINE));
  expect((await stateWith(next, key)).status).toMatchObject({ ready: true });
  await expect(stateWith(next)).rejects.toMatchObject({ code: "BAD_SIGNATURE" });
});

it("a Node gateway does not start with a key that could be guessed", async () => {
  const folder = gateways.folder();
  writeFileSync(join(folder, "transfer.key"), "hunter2\n");
  const started = gateways.start(folder, { tls: false, transfer: { keyFile: "transfer.key" } });
  await expect(started).rejects.toThrow(/transfer\.keyFile: .* less than 32 characters/);
  await expect(started).rejects.not.toThrow("hunter2");
});
