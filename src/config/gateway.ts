import * as z from "zod";
import { DEFAULT_GATEWAY_LIMITS } from "../gateway/limits.ts";
import { DEFAULT_OUTSIDE_ORDER } from "../merge/addresses.ts";
import { ClusterId } from "../snapshot/schema.ts";
import { ServicePattern } from "./access.ts";
import { Federation, SourceCluster } from "./federations.ts";
import { OutsideZones, Paths } from "./forward.ts";
import { EdgeClients, pushLimits, snapshotBounds } from "./limits.ts";
import { Location } from "./location.ts";
import { count, countOf, IpAddress, seconds, text, ZoneName } from "./values.ts";

/** What a prefix may be. Every key has it in braces, as a hash tag: so it has no braces itself. */
const PREFIX = /^[A-Za-z0-9._:-]{1,64}$/;

const HostPort = z.string().refine(isHostPort, "must be HOST or HOST:PORT");

const Nodes = z.array(HostPort).min(1).max(32);

/** The master of servers that Sentinels watch. */
const Sentinel = z.strictObject({
  /** How the Sentinels call the group of servers. */
  name: text,
  /** Addresses of Sentinels. */
  nodes: Nodes,
  /** The ACL user at the Sentinels. */
  username: text.optional(),
  passwordFile: text.optional(),
  database: z.int().min(0).max(99_999).default(0),
  /** Whether Sentinels and servers use TLS. */
  tls: z.boolean().default(false),
});

/** A Cluster, of which one node has all keys of a prefix. */
const Cluster = z.strictObject({
  /** Addresses of some of its nodes. */
  nodes: Nodes,
  tls: z.boolean().default(false),
});

export type Store = z.infer<typeof Store>;

/** Valkey or Redis, where the state is kept instead of in the state folder. */
export const Store = z
  .strictObject({
    /** `redis://` or `rediss://` (TLS), with host, port and database. */
    url: z
      .string()
      .refine(isRedisUrl, "must be redis://HOST[:PORT][/DATABASE], or rediss:// for TLS")
      .optional(),
    sentinel: Sentinel.optional(),
    cluster: Cluster.optional(),
    /** The ACL user. */
    username: z.string().min(1).optional(),
    passwordFile: z.string().min(1).optional(),
    /** Certificates in PEM of the authorities that sign the engine's. */
    caFile: z.string().min(1).optional(),
    /** The certificate for servers that demand one, and its key. */
    certificateFile: z.string().min(1).optional(),
    keyFile: z.string().min(1).optional(),
    /** What all keys begin with: gateways that have the same share one log. */
    prefix: z
      .string()
      .regex(PREFIX, "must be 1 to 64 letters, digits, and . _ : -")
      .default("clusterset-doh"),
    /** Leases end at the latest this long after their time while the engine is gone. */
    leaseHoldSeconds: z.int().min(0).max(604_800).default(3600),
  })
  .refine(
    (value) => countOf(value, ["url", "sentinel", "cluster"]) === 1,
    "must have one of url, sentinel and cluster",
  )
  .refine(
    (value) => countOf(value, ["certificateFile", "keyFile"]) !== 1,
    "must have both of certificateFile and keyFile, or none",
  );

const settings = {
  /** Whether there is an audit log. */
  enabled: z.boolean().default(true),
  /** The rate and the burst of lines of one source: a credential, or the clients without one in one network. */
  linesPerSecond: z.int().min(1).max(100_000).default(10),
  lineBurst: z.int().min(1).max(1_000_000).default(600),
};

export type EdgeAudit = z.infer<typeof EdgeAudit>;

/** The audit log on a host without files. */
export const EdgeAudit = z.strictObject(settings);

/** The audit log. */
export const Audit = z.strictObject({
  ...settings,
  /** The file for lines, instead of the ordinary log. */
  logFile: z.string().min(1).optional(),
});

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

const PUBLIC_URL = "must be https://HOST or https://HOST:PORT, such as https://doh.example.org";

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

function isRedisUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash } = new URL(text);
  const isPlain = search === "" && hash === "" && /^(?:\/\d{0,5})?$/.test(pathname);
  return (protocol === "redis:" || protocol === "rediss:") && hostname !== "" && isPlain;
}

function isHostPort(text: string): boolean {
  return /^[^/@?#\s]+$/.test(text) && isRedisUrl(`redis://${text}`);
}
