import * as z from "zod";
import { DEFAULT_GATEWAY_LIMITS } from "../gateway/pushing/limits.ts";
import { DEFAULT_OUTSIDE_ORDER } from "../merge/service/addresses.ts";
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
    /** The lease of workers that request none. */
    defaultSeconds: seconds(1, 86_400).default(DEFAULT_GATEWAY_LIMITS.lease.defaultSeconds),
    maximumSeconds: seconds(1, 86_400).default(DEFAULT_GATEWAY_LIMITS.lease.maximumSeconds),
  })
  .refine(
    ({ minimumSeconds, defaultSeconds, maximumSeconds }) =>
      minimumSeconds <= defaultSeconds && defaultSeconds <= maximumSeconds,
    "must have minimumSeconds <= defaultSeconds <= maximumSeconds",
  );

/** Limits on every host. */
export const gatewayLimits = {
  queryBytes: count(12, 65_535).default(65_535),
  clusters: count(1, 10_000).default(DEFAULT_GATEWAY_LIMITS.clusters),
  /** The size of one cluster's snapshot as JSON. */
  snapshotCharacters: count(1024, 2 ** 29).default(DEFAULT_GATEWAY_LIMITS.snapshotCharacters),
  /** The endpoints of an export, an import or a service of a cluster's own zone. */
  endpointsPerService: count(1, 1_000_000).default(DEFAULT_GATEWAY_LIMITS.endpointsPerService),
  ...snapshotBounds,
  /** Answers without a push are stale this many seconds after it. */
  pushDelaySeconds: seconds(1, 3600).default(DEFAULT_GATEWAY_LIMITS.pushDelaySeconds),
  ...pushLimits,
};

/** The settings of every host. */
export const gatewaySettings = {
  /** The first is canonical: PTR targets are in it. `clusterset.local` is served even if it is not listed. */
  zones: z.array(ZoneName).max(100).default([]),
  federations: z.array(Federation).max(100).default([]),
  sourceCluster: SourceCluster.prefault({}),
  location: Location.prefault({ source: "off" }),
  /** How clients are identified, and the limits of each. */
  clients: EdgeClients.prefault({}),
  /** The answer to a name out of zone. */
  outsideZones: OutsideZones.default("refuse"),
  paths: Paths,
  /** Sources of a ClusterSetIP service's addresses for clients outside every cluster; the first with an address counts. */
  outsideOrder: z
    .array(z.enum(["ClusterSetIP", "LoadBalancer", "Endpoint"]))
    .min(1)
    .max(3)
    .default([...DEFAULT_OUTSIDE_ORDER]),
  /** Addresses of `ns.dns.<zone>`, for delegation by a parent zone. Default: those on which the gateway answers public plain DNS. */
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
  /** The gateway's URL for clients. Default: pages use the address of their request. */
  publicUrl: z
    .url({ protocol: /^https$/, error: PUBLIC_URL })
    .refine((text) => URL.canParse(text) && new URL(text).href === `${new URL(text).origin}/`, PUBLIC_URL)
    .optional(),
  /** The pages for people: `/`, `/setup` and the pages that they link to. */
  pages: z.strictObject({ enabled: z.boolean().default(true) }).prefault({}),
  /**
   * Web origins whose scripts may read answers; `*` counts for answers of the rule `public` only. Default: `*`, but none if only
   * the network admits clients.
   */
  cors: z
    .strictObject({ origins: z.union([z.literal("*"), z.array(z.url()).max(1000)]).optional() })
    .prefault({}),
};
