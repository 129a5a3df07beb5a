import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { exported, snapshot } from "../../merge/fixtures.ts";
import { pushed } from "../../snapshot/lines/push-lines.ts";
import { answered, eventually, metric } from "../harness/answers.ts";
import { type GatewayProcess, startGateway } from "../harness/processes.ts";
import { temporaryFolder } from "../servers/tools/folders.ts";

const MIB = 1024 * 1024;

describe("a gateway whose disk is full", () => {
  let disk: string;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    disk = temporaryFolder("disk");
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", disk]);
    mkdirSync(join(disk, "state"));
    const lease = { minimumSeconds: 1, defaultSeconds: 60, maximumSeconds: 3600 };
    gateway = await startGateway({
      stateDir: join(disk, "state"),
      clusters: ["east", "west", "north"],
      config: { lease },
    });
  });

  afterAll(async () => {
    await gateway?.stop();
    execFileSync("umount", [disk]);
  });

  beforeEach(async () => {
    empty();
    await push("east", "10.1.0.1");
    await push("west", "10.2.0.1");
    await send("DELETE", "north", "");
    await eventually(storeFailing).toBe(0);
  });

  const fill = () => {
    const file = openSync(join(disk, "filler"), "a");
    try {
      for (const part of [MIB, 4096, 1]) {
        const bytes = Buffer.alloc(part);
        for (;;) {
          try {
            writeSync(file, bytes);
          } catch (error) {
            expect(error).toMatchObject({ code: "ENOSPC" });
            break;
          }
        }
      }
    } finally {
      closeSync(file);
    }
  };
  const empty = () => rmSync(join(disk, "filler"), { force: true });

  const send = (method: string, path: string, body: object | string, leaseSeconds = 600) =>
    sendTo(method, `/api/v1/clusters/${path}?leaseSeconds=${leaseSeconds}`, body, {
      authorization: `Bearer ${gateway.tokenFor(path.split("/")[0]!)}`,
    });
  const sendTo = (
    method: string,
    path: string,
    body: object | string,
    headers: Record<string, string>,
  ): ReturnType<GatewayProcess["http"]> =>
    typeof body === "string"
      ? gateway.http(path, { method, headers })
      : gateway.http(...pushed(method, path, body, headers));
  const put = (clusterId: string, address: string, leaseSeconds?: number) =>
    send("PUT", `${clusterId}/snapshot`, snapshotOf(clusterId, address), leaseSeconds);
  const push = async (clusterId: string, address: string, leaseSeconds?: number) => {
    const answer = await put(clusterId, address, leaseSeconds);
    expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
    return answer.json<{ generation: number }>().generation;
  };
  const renew = async (clusterId: string, generation: number, leaseSeconds?: number) =>
    (await send("POST", `${clusterId}/lease`, { generation }, leaseSeconds)).status;
  const storeFailing = () => metric(gateway, "clusterset_doh_store_failing");
  const readyz = async () => {
    const { status, text } = await gateway.http("/readyz");
    return [status, text.trim()];
  };
  const addresses = async (...clusters: string[]) =>
    Promise.all(clusters.map((clusterId) => answered(gateway, `${clusterId}.shop`)));

  test("rejects changes with a code, renews leases, answers, reports it, and recovers by itself", async () => {
    const generation = await push("east", "10.1.0.1", 3);
    fill();
    // A worker pushes what changed again and again; that it does keeps its cluster in the answers.
    const begun = performance.now();
    do {
      const refused = await put("west", `10.2.0.2`, 3);
      expect([refused.status, refused.json()]).toEqual([
        503,
        { code: "STORE_FULL", message: expect.stringContaining("ENOSPC") },
      ]);
      expect(refused.headers["retry-after"]).toBe("10");
      expect(await renew("east", generation, 3)).toBe(200);
      expect(await addresses("east", "west")).toEqual([["10.1.0.1"], ["10.2.0.1"]]);
    } while (performance.now() - begun < 7_000);
    expect(await readyz()).toEqual([200, expect.stringMatching(/^ready: 2 of 2 .*disk is full \(ENOSPC\)/)]);
    expect(await storeFailing()).toBe(1);
    expect(gateway.process.log()).toContain('"store-failed"');
    expect(await put("north", "10.3.0.1")).toMatchObject({ status: 503 });

    empty();
    await push("west", "10.2.0.2");
    expect(await renew("east", generation)).toBe(200);
    await eventually(storeFailing).toBe(0);
    expect(await readyz()).toEqual([
      200,
      expect.stringMatching(/^ready: 2 of 2 clusters live, \d+ services$/),
    ]);
    expect(gateway.process.log()).toContain('"store-works-again"');
    // What was renewed and pushed since is on the disk.
    await gateway.kill();
    await gateway.restart();
    expect(await addresses("east", "west", "north")).toEqual([["10.1.0.1"], ["10.2.0.2"], "NXDOMAIN"]);
  });

  test("removes clusters that leave and that die, from the answers and from itself", async () => {
    await push("north", "10.3.0.1");
    await push("east", "10.1.0.1", 2);
    fill();
    await eventually(() => addresses("east")).toEqual(["NXDOMAIN"]);
    expect((await send("DELETE", "west", "")).status).toBe(204);
    expect(await addresses("east", "west", "north")).toEqual(["NXDOMAIN", "NXDOMAIN", ["10.3.0.1"]]);
    await eventually(() => readdirSync(join(disk, "state", "snapshots", "clusters"))).toEqual(["north"]);
  });

  test("starts again, with what it has on the disk", async () => {
    fill();
    await gateway.kill();
    await gateway.restart();
    expect(await addresses("east", "west")).toEqual([["10.1.0.1"], ["10.2.0.1"]]);
  });
});

function snapshotOf(clusterId: string, address: string) {
  const ports = [{ name: "pg", protocol: "TCP", port: 5432 }];
  // Large enough for pages of their own on the disk.
  const unready = Array.from({ length: 200 }, (_, index) => ({ address: `10.9.0.${index}`, ready: false }));
  const members = Object.fromEntries([{ address }, ...unready].map((one) => [one.address, one]));
  const endpoints = { "pg/TCP/5432": { ports, members } };
  return snapshot(clusterId, {
    exports: { [`shop/${clusterId}`]: exported({ headless: true, ports, endpoints }) },
  });
}
