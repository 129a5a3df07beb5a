import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { Gateways, send } from "../../hosts/gateways.ts";

const gateways = new Gateways();
afterAll(() => gateways.close());
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const credentials = [{ clusterId: "west", tokenSha256: sha256("west-token") }];

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

it("a Node gateway does not start with a key that could be guessed", async () => {
  const folder = gateways.folder();
  writeFileSync(join(folder, "transfer.key"), "hunter2\n");
  const started = gateways.start(folder, { tls: false, transfer: { keyFile: "transfer.key" } });
  await expect(started).rejects.toThrow(/transfer\.keyFile: .* less than 32 characters/);
  await expect(started).rejects.not.toThrow("hunter2");
});
