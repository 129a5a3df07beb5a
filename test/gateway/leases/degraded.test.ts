import { expect, it } from "vitest";
import type { Degradation } from "../../../src/snapshot/report.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import { openGateway, putSnapshot } from "../open-gateway.ts";

const UNREACHABLE: Degradation = { reason: "API_UNREACHABLE", seconds: 30 };
const FORBIDDEN: Degradation = { reason: "RBAC_FORBIDDEN", seconds: 10, subject: "services" };

function open(...parts: Parameters<typeof openGateway>) {
  const { events, ...opened } = openGateway(...parts);
  return { ...opened, reports: () => events.filter(({ event }) => /degraded|recovered/.test(event)) };
}

it("the log says once what a worker reports, and that it reports nothing any more", async () => {
  const { gateway, clock, reports } = open();
  const { generation } = await putSnapshot(gateway, shopSnapshot("west"), {
    leaseSeconds: 90,
    report: { degraded: [UNREACHABLE] },
  });
  const degraded = [{ reason: "API_UNREACHABLE" }];
  expect(reports()).toEqual([{ event: "worker-degraded", clusterId: "west", degraded }]);
  for (const seconds of [40, 60, 80])
    await gateway.renew("west", generation, {
      leaseSeconds: 90,
      report: { degraded: [{ ...UNREACHABLE, seconds }] },
    });
  expect(reports()).toHaveLength(1);
  await clock.advance(60_000);
  await gateway.renew("west", generation, {
    leaseSeconds: 90,
    report: { degraded: [UNREACHABLE, FORBIDDEN] },
  });
  expect(reports()[1]).toMatchObject({ degraded: [...degraded, { subject: "services" }] });
  await clock.advance(60_000);
  await gateway.renew("west", generation);
  await gateway.renew("west", generation);
  expect(reports().slice(2)).toEqual([{ event: "worker-recovered", clusterId: "west" }]);
});

it("the log has ten reports of a cluster a minute, however often it changes, and the last one in the end", async () => {
  const { gateway, clock, reports } = open();
  const { generation } = await putSnapshot(gateway, shopSnapshot("west"));
  const renew = (degraded: Degradation[]) =>
    gateway.renew("west", generation, { leaseSeconds: 90, report: { degraded } });
  for (let second = 0; second < 110; second++) {
    await renew(second % 2 === 0 ? [UNREACHABLE] : [FORBIDDEN]);
    await clock.advance(1000);
  }
  expect(reports()).toHaveLength(20);
  await renew([]);
  expect(reports()).toHaveLength(20);
  await clock.advance(60_000);
  await renew([]);
  expect(reports().slice(20)).toEqual([{ event: "worker-recovered", clusterId: "west" }]);
});

it("a restarted gateway still knows it, and does not log it again", async () => {
  const { database, clock, gateway } = open();
  const { generation } = await putSnapshot(gateway, shopSnapshot("west"));
  await gateway.renew("west", generation, { leaseSeconds: 60, report: { degraded: [UNREACHABLE] } });
  const { degraded } = gateway.everything.status().clusters[0]!;
  expect(degraded).toEqual([{ reason: "API_UNREACHABLE", since: clock.now() - 30_000 }]);
  await clock.advance(5000);
  const restarted = open({ database, clock });
  expect(restarted.gateway.everything.status().clusters[0]!.degraded).toEqual(degraded);
  await restarted.gateway.renew("west", generation, {
    leaseSeconds: 60,
    report: { degraded: [{ ...UNREACHABLE, seconds: 35 }] },
  });
  expect(restarted.reports()).toEqual([]);
});

it("a scope that hides something has no subjects of reports, which may not exist there", async () => {
  const scope = { namespaces: ["shop"] };
  const { gateway } = open({ scopes: [scope] });
  await putSnapshot(gateway, shopSnapshot("west"), { leaseSeconds: 90, report: { degraded: [FORBIDDEN] } });
  const reportsIn = ({ clusters }: ReturnType<typeof gateway.everything.status>) =>
    clusters.flatMap(({ degraded = [] }) => degraded.map(({ reason, subject }) => [reason, subject]));
  expect(reportsIn(gateway.everything.status())).toEqual([["RBAC_FORBIDDEN", "services"]]);
  expect(reportsIn(gateway.within(scope).status())).toEqual([["RBAC_FORBIDDEN", undefined]]);
});
