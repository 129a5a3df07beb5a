import { decode } from "dns-packet";
import type { GatewayEvent } from "../../src/gateway/gateway-types.ts";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { exported, snapshot } from "../merge/fixtures.ts";
import { encodeQuery } from "../resolve/ask.ts";
import { FakeClock } from "./fake-clock.ts";
import { patchCluster, putSnapshot } from "./open-gateway.ts";
import { answerNow, memoryDatabase, openKeyed } from "./open-keyed.ts";

export const BEGAN = Date.parse("2026-06-01T00:00:00Z");
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** When a day begins: day 1 is the gateway's first. */
export const day = (number: number) => BEGAN + (number - 1) * DAY;
export const iso = (at: number) => new Date(at).toISOString();

/**
 * The clusters that may export the service, each with a port of its own, by which its answers are recognized.
 * Hostile ones sort first.
 */
const PORTS: Readonly<Record<string, number>> = { east: 1001, north: 1002, west: 1003 };

/** How a cluster reports `shop/web`: with its creation time, or not at all. */
export interface Reported {
  readonly exportedAt?: number | string;
  /** Default: the cluster has the namespace. */
  readonly namespace?: boolean;
}

/** A cluster that exports `shop/web` on its own port, or does not. */
export function reporting(clusterId: string, { exportedAt, namespace = true }: Reported): ClusterSnapshot {
  const time = typeof exportedAt === "number" ? iso(exportedAt) : exportedAt;
  const number = PORTS[clusterId]!;
  const web =
    time === undefined
      ? {}
      : {
          "shop/web": exported({
            exportedAt: time,
            ports: [{ name: "http", protocol: "TCP", port: number }],
            externalIPs: [`10.0.0.${number - 1000}`],
          }),
        };
  return snapshot(clusterId, { namespaces: namespace ? { shop: {} } : {}, exports: web });
}

/** A gateway on a clock of its own, whose clusters all know one service. */
export function openSharedService(clock = new FakeClock(BEGAN), database = memoryDatabase()) {
  clock.nextTurn = (run) => void setImmediate(run);
  const events: GatewayEvent[] = [];
  const open = () => openKeyed({ database, clock, onEvent: (event) => void events.push(event) });
  let gateway = open();
  const generations = new Map<string, number>();
  const ask = () => {
    const query = encodeQuery("_http._tcp.web.shop.svc.clusterset.local", "SRV");
    return decode(Buffer.from(answerNow(gateway.everything, query, undefined, clock.now()).bytes));
  };
  return {
    clock,
    database,
    events,
    /** Sets the clock, and lets pass what happens until then. It goes back, too, with no timer. */
    at: async (time: number) => {
      const now = clock.now();
      if (time >= now) await clock.advance(time - now);
      else clock.stall(time - now);
    },
    put: async (clusterId: string, reported: Reported = {}, lease = 3600) => {
      const pushed = await putSnapshot(gateway, reporting(clusterId, reported), { leaseSeconds: lease });
      generations.set(clusterId, pushed.generation);
    },
    /** A delta that changes the snapshot to what is reported. */
    patch: async (clusterId: string, reported: Reported = {}, lease = 3600) => {
      const { exports, namespaces } = reporting(clusterId, reported);
      const delta = {
        namespaces: { shop: namespaces.shop ?? null },
        exports: { "shop/web": exports["shop/web"] ?? null },
      };
      const base = generations.get(clusterId)!;
      const pushed = await patchCluster(gateway, clusterId, base, delta, { leaseSeconds: lease });
      generations.set(clusterId, pushed.generation);
    },
    renew: (clusterId: string, lease = 3600) =>
      gateway.renew(clusterId, generations.get(clusterId)!, { leaseSeconds: lease }),
    leave: (clusterId: string) => gateway.leave(clusterId),
    isLive: (clusterId: string) =>
      gateway.everything.status().clusters.some((cluster) => cluster.clusterId === clusterId && cluster.live),
    /** Lets the lease of every cluster expire. */
    lapse: () => clock.advance(2 * HOUR),
    /** Opens another gateway over what the first one stored. */
    restart: async () => {
      await gateway.close();
      gateway = open();
    },
    /** How a query for the service is answered. */
    rcode: () => (ask() as { rcode?: string }).rcode,
    /** The cluster whose port is answered, as clients see it; undefined where there is none. */
    owner: () => {
      const { answers = [] } = ask();
      const ports = new Set(answers.map((one) => (one.type === "SRV" ? one.data.port : 0)));
      return Object.keys(PORTS).find((clusterId) => ports.has(PORTS[clusterId]!));
    },
    /** Who is said to report an implausible creation time. */
    implausible: async () =>
      ((await gateway.everything.survey())?.findings ?? [])
        .filter(({ reason }) => reason === "ImplausibleTimestamp")
        .map(({ clusterId, message }) => ({ clusterId, message })),
  };
}

export type SharedService = ReturnType<typeof openSharedService>;
