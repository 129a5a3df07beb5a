import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LinesError } from "../../../../src/snapshot/lines/lines-error.ts";
import { parseSnapshot } from "../../../../src/snapshot/parse.ts";
import { SnapshotError } from "../../../../src/snapshot/snapshot-error.ts";
import { applyPatch, readSnapshotLines } from "../../../snapshot/changes.ts";
import { LINES_TYPE, snapshotBody } from "../../../snapshot/lines/push-lines.ts";
import { emptySnapshot, shopSnapshot } from "../../../snapshot/worlds.ts";
import { answered } from "../../harness/answers.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes.ts";
import { POLLUTED, PROTOTYPE_NAMES, prototypeBodies, pushWith } from "./prototype-bodies.ts";
import { expectNobodyThere, expectNoPollution } from "./prototype-keys.ts";

/** Cluster ids may be words of the language, too. */
const NAMED = PROTOTYPE_NAMES.filter((name) => /^[a-z]+$/.test(name));

describe("names of inherited members as keys of JSON", () => {
  let gateway: GatewayProcess;
  beforeAll(async () => {
    gateway = await startGateway({ clusters: ["east", "west", ...NAMED], leaseSeconds: 600 });
  });
  afterAll(async () => {
    await gateway?.stop();
    expect(gateway.process.log()).not.toMatch(/"level":"(?:error|fatal)"/);
  });

  test("are accepted or rejected like any other, and affect no other entry", {
    timeout: 300_000,
  }, async () => {
    await expectNoPollution(gateway, "west", "east", 7);
  });

  test("match no cluster, no service and no token", () => expectNobodyThere(gateway, "east"));

  test("reach no prototype when they are parsed", () => {
    const before = Object.getOwnPropertyNames(Object.prototype).sort();
    for (const { members } of prototypeBodies) {
      for (const read of [
        () => readSnapshotLines([Buffer.from(pushWith("west", members))]),
        () => parseSnapshot({ ...emptySnapshot("west"), ...JSON.parse(`{${members}}`) }),
        () => applyPatch(emptySnapshot("west"), JSON.parse(`{${members}}`)),
      ])
        try {
          const snapshot = read();
          expect(Object.getPrototypeOf(snapshot)).toBe(Object.prototype);
          expect(Object.getPrototypeOf(snapshot.exports)).toBe(Object.prototype);
        } catch (error) {
          if (!(error instanceof SnapshotError || error instanceof LinesError)) throw error;
        }
      expect(({} as Record<string, unknown>)[POLLUTED]).toBeUndefined();
    }
    expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(before);
  });

  test.each(NAMED)("%s may be a cluster id", async (name) => {
    const headers = {
      authorization: `Bearer ${gateway.tokenFor(name)}`,
      "content-type": LINES_TYPE,
    };
    const body = Buffer.from(
      snapshotBody({ ...shopSnapshot(name, 1), namespaces: { [name]: {}, shop: {} } }),
    );
    const { status } = await gateway.http(`/api/v1/clusters/${name}/snapshot`, {
      method: "PUT",
      headers,
      body,
    });
    expect(status).toBe(200);
    expect(await answered(gateway, "web.shop", "A", { view: name })).toEqual(["10.0.0.0", "10.0.0.1"]);
    expect(await gateway.clusterStatus(name)).toMatchObject({ clusterId: name });
    await gateway.restart();
    expect(await answered(gateway, "web.shop", "A", { view: name })).toEqual(["10.0.0.0", "10.0.0.1"]);
    expect((await gateway.http(`/api/v1/clusters/${name}`, { method: "DELETE", headers })).status).toBe(204);
    expect((await gateway.http(`/clusters/${name}/resolve?name=web.shop.svc.clusterset.local`)).status).toBe(
      404,
    );
  });
});
