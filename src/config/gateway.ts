import * as z from "zod";
import { DEFAULT_GATEWAY_LIMITS } from "../gateway/pushing/limits.ts";
import { DEFAULT_OUTSIDE_ORDER } from "../merge/addresses.ts";
import { ClusterId } from "../snapshot/schema.ts";
import { ServicePattern } from "./access/push-credentials.ts";
import { EdgeAudit } from "./audit.ts";
import { Federation, SourceCluster } from "./federations.ts";
import { OutsideZones, Paths } from "./forward.ts";
import { EdgeClients } from "./limits/clients.ts";
import { pushLimits } from "./limits/push-limits.ts";
import { snapshotBounds } from "./limits/snapshot-bounds.ts";
import { Location } from "./location.ts";
import { IpAddress, ZoneName } from "./values/values.ts";

const seconds = (least: number, most: number) => z.int().min(least).max(most);
const count = (least: number, most: number) => z.int().min(least).max(most);

const PUBLIC_URL = "must be https://HOST or https://HOST:PORT, such as https://doh.example.org";

const Lease = z
  .strictObject({
    minimumSeconds: seconds(1, 86_400).default(DEFAULT_GATEWAY_LIMITS.lease.minimumSeconds),
    /** Where a worker names none. */
    defaultSeconds: seconds(1, 86_400).default(DEFAULT_GATEWAY_LIMITS.lease.defaultSeconds),
    maximumSeconds: seconds(1, 86_400).default(DEFAULT_GATEWAY_LIMITS.lease.maximumSeconds),
  })
  .refine(
    ({ minimumSeconds, defaultSeconds, maximumSeconds }) =>
      minimumSeconds <= defaultSeconds && defaultSeconds <= maximumSeconds,
    "must have minimumSeconds <= defaultSeconds <= maximumSeconds",
  );

/** Bounds that hold on every host. */
export const gatewayLimits = {
  queryBytes: count(12, 65_535).default(65_535),
  clusters: count(1, 10_000).default(DEFAULT_GATEWAY_LIMITS.clusters),
  /** One cluster's snapshot as JSON. */
  snapshotCharacters: count(1024, 2 ** 29).default(DEFAULT_GATEWAY_LIMITS.snapshotCharacters),
  ...snapshotBounds,
  /** After how many seconds without it in the answers a push makes them stale. */
  pushDelaySeconds: seconds(1, 3600).default(DEFAULT_GATEWAY_LIMITS.pushDelaySeconds),
  ...pushLimits,
};

/** The settings that every host has: what is answered, and how. */
export const gatewaySettings = {
  /** The first is canonical: PTR targets are in it. `clusterset.local` is served even where it is not listed. */
  zones: z.array(ZoneName).max(100).default([]),
  federations: z.array(Federation).max(100).default([]),
  sourceCluster: SourceCluster.prefault({}),
  location: Location.prefault({ source: "off" }),
  /** Who a client is, and how much each may ask for. */
  clients: EdgeClients.prefault({}),
  /** What a name outside every zone gets. */
  outsideZones: OutsideZones.default("refuse"),
  paths: Paths,
  /** Where a ClusterSetIP service's addresses come from for askers outside every cluster: the first that has any. */
  outsideOrder: z
    .array(z.enum(["ClusterSetIP", "LoadBalancer", "Endpoint"]))
    .min(1)
    .max(3)
    .default([...DEFAULT_OUTSIDE_ORDER]),
  /** Of `ns.dns.<zone>`, by which a parent zone delegates. Default: none, or where the gateway itself answers plain DNS to everybody. */
  nameServerAddresses: z.array(IpAddress).max(20).optional(),
  ttlSeconds: seconds(0, 3600).default(5),
  negativeTtlSeconds: seconds(0, 3600).default(5),
  /** The cluster whose export decides the properties of a service, instead of the oldest. */
  services: z
    .array(z.strictObject({ service: ServicePattern, owner: ClusterId }))
    .max(10_000)
    .default([]),
  lease: Lease.prefault({}),
  /** One line for each push, registration and transfer (docs/reference/audit-log.md). */
  audit: EdgeAudit.prefault({}),
  /** Where clients reach the gateway; unless given, pages take the address that they were asked by. */
  publicUrl: z
    .url({ protocol: /^https$/, error: PUBLIC_URL })
    .refine((text) => URL.canParse(text) && new URL(text).href === `${new URL(text).origin}/`, PUBLIC_URL)
    .optional(),
  /** The pages for people: `/`, `/setup` and those that they lead to. */
  pages: z.strictObject({ enabled: z.boolean().default(true) }).prefault({}),
  /**
   * Web origins whose scripts may read answers; `*` is for the answers of the rule `public` alone. Default: `*`, but none where only
   * the network admits clients.
   */
  cors: z
    .strictObject({ origins: z.union([z.literal("*"), z.array(z.url()).max(1000)]).optional() })
    .prefault({}),
};
