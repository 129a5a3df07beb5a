import { expect } from "vitest";
import { LINES_TYPE, snapshotBody } from "../../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../../snapshot/worlds.ts";
import type { GatewayClient, HttpAnswer } from "../../harness/gateway-client.ts";
import {
  POLLUTED,
  PROTOTYPE_NAMES,
  prototypeBodies,
  pushWith,
  pushWithPrototypeInHeader,
} from "./prototype-bodies.ts";

const WEB = "web.shop.svc.clusterset.local";

/** A push of `clusterId` with its own token. */
function push(
  gateway: GatewayClient,
  clusterId: string,
  method: string,
  body: string | Buffer,
  query = "",
): Promise<HttpAnswer> {
  return gateway.http(`/api/v1/clusters/${clusterId}/snapshot${query}`, {
    method,
    headers: {
      authorization: `Bearer ${gateway.tokenFor(clusterId)}`,
      "content-type": LINES_TYPE,
    },
    body,
  });
}

/**
 * Pushes the names that every object has at every place, as snapshots and as deltas, and holds that nothing else changes by them.
 * @param each of so many bodies one; those of one place and name are five or six
 */
export async function expectNoPollution(
  gateway: GatewayClient,
  attacker: string,
  other: string,
  each: number,
): Promise<void> {
  expect((await push(gateway, other, "PUT", Buffer.from(snapshotBody(shopSnapshot(other, 2))))).status).toBe(
    200,
  );
  const before = await seen(gateway, other);
  const statuses = { whole: new Set<number>(), delta: new Set<number>() };
  for (const { title, members } of prototypeBodies.filter((_, index) => index % each === 0)) {
    const body = pushWith(attacker, members);
    const whole = await push(gateway, attacker, "PUT", body);
    const { generation } = (
      await push(gateway, attacker, "PUT", Buffer.from(snapshotBody(shopSnapshot(attacker, 0))))
    ).json<{ generation: number }>();
    const base = `?baseGeneration=${generation}`;
    const delta = await push(gateway, attacker, "PATCH", body, base);
    statuses.whole.add(whole.status);
    statuses.delta.add(delta.status);
    for (const { status, text } of [whole, delta]) {
      expect([title, status, [200, 400, 422].includes(status)]).toEqual([title, status, true]);
      // A rejection may repeat the name of a field; inherited members are not fields.
      expect(Object.keys(JSON.parse(text) as object)).not.toContain(POLLUTED);
    }
  }
  // What fits is accepted. A line of another form is rejected with 400, a wrong entry with 422.
  expect([...statuses.whole].sort()).toEqual([200, 400, 422]);
  expect([...statuses.delta].sort()).toEqual([200, 400, 422]);
  const header = await push(gateway, attacker, "PUT", pushWithPrototypeInHeader(attacker));
  expect([header.status, header.text]).toEqual([400, expect.stringContaining("__proto__")]);
  await push(gateway, attacker, "PUT", Buffer.from(snapshotBody(shopSnapshot(attacker, 0))));
  expect(await seen(gateway, other)).toEqual(before);
}

/** Expects that these names are no clusters, in views and in the push API. */
export async function expectNobodyThere(gateway: GatewayClient, clusterId: string): Promise<void> {
  for (const name of PROTOTYPE_NAMES) {
    for (const path of [
      `/clusters/${name}/dns-query?dns=AAABAAABAAAAAAAAAAABAAE`,
      `/clusters/${name}/resolve?name=${WEB}`,
    ])
      expect([path, (await gateway.http(path)).status]).toEqual([path, 404]);
    const headers = { authorization: `Bearer ${gateway.tokenFor(clusterId)}` };
    const { status } = await gateway.http(`/api/v1/clusters/${name}`, { headers });
    expect([name, status]).toEqual([name, 403]);
    const unknown = { authorization: `Bearer ${name}` };
    expect((await gateway.http(`/resolve?name=${WEB}`, { headers: unknown })).status).toBe(401);
    expect((await gateway.json(`${name}.shop.svc.clusterset.local`, "A")).Status).toBe(3);
  }
}

/** The status of a cluster and its answers, without the parts that every push changes. */
async function seen(gateway: GatewayClient, clusterId: string): Promise<unknown> {
  const status = await gateway.clusterStatus(clusterId);
  const answer = await gateway.json(WEB, "A");
  return { status, keys: Object.keys(answer).sort(), addresses: (await gateway.lookup(WEB, "A")).values };
}
