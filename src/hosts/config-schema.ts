import { z } from "zod";
import { DEFAULT_GATEWAY_LIMITS } from "../gateway/limits.ts";
import { DEFAULT_PUSH_LIMITS } from "../http/push-limits.ts";
import { DEFAULT_OUTSIDE_ORDER } from "../merge/addresses.ts";
import { ClusterId } from "../snapshot/schema.ts";
import { Federation, SourceCluster, Stub } from "./federation-config.ts";
import { DEFAULT_SERVER_LIMITS } from "./node-server.ts";
import { ZoneName } from "./zone-name.ts";

const seconds = (least: number, most: number) => z.int().min(least).max(most);
const count = (least: number, most: number) => z.int().min(least).max(most);

const Credential = z
  .strictObject({
    clusterId: ClusterId,
    /** SHA-256 of the token in hex, as `clusterset-doh token` prints it. */
    tokenSha256: z
      .string()
      .regex(/^[0-9a-f]{64}$/i, "must be 64 hex digits")
      .optional(),
    tokenFile: z.string().min(1).optional(),
  })
  .refine(
    ({ tokenSha256, tokenFile }) => (tokenSha256 === undefined) !== (tokenFile === undefined),
    "must have one of tokenSha256 and tokenFile",
  );

const Tls = z
  .strictObject({
    certificateFile: z.string().min(1).optional(),
    keyFile: z.string().min(1).optional(),
    /** Certificates in PEM of the authorities whose clients may register federations. */
    clientCaFile: z.string().min(1).optional(),
  })
  .refine(
    ({ certificateFile, keyFile }) => (certificateFile === undefined) === (keyFile === undefined),
    "must have certificateFile and keyFile together",
  );

const Lease = z
  .strictObject({
    minimumSeconds: seconds(1, 86_400).default(DEFAULT_GATEWAY_LIMITS.leastLeaseSeconds),
    /** Where a worker names none. */
    defaultSeconds: seconds(1, 86_400).default(DEFAULT_GATEWAY_LIMITS.leaseSeconds),
    maximumSeconds: seconds(1, 86_400).default(DEFAULT_GATEWAY_LIMITS.mostLeaseSeconds),
  })
  .refine(
    ({ minimumSeconds, defaultSeconds, maximumSeconds }) =>
      minimumSeconds <= defaultSeconds && defaultSeconds <= maximumSeconds,
    "must have minimumSeconds <= defaultSeconds <= maximumSeconds",
  );

const Limits = z.strictObject({
  queryBytes: count(12, 65_535).default(65_535),
  clusters: count(1, 10_000).default(DEFAULT_GATEWAY_LIMITS.mostClusters),
  /** One cluster's snapshot as JSON. */
  snapshotCharacters: count(1024, 2 ** 29).default(DEFAULT_GATEWAY_LIMITS.mostSnapshotCharacters),
  /** A push as it is sent, compressed or not. */
  pushSentBytes: count(1024, 2 ** 30).default(DEFAULT_PUSH_LIMITS.sentBytes),
  /** A push after decompression. */
  pushBytes: count(1024, 2 ** 30).default(DEFAULT_PUSH_LIMITS.bodyBytes),
  connections: count(1, 1_000_000).default(DEFAULT_SERVER_LIMITS.connections),
  streamsPerConnection: count(1, 10_000).default(DEFAULT_SERVER_LIMITS.streamsPerConnection),
  headerBytes: count(4096, 1_048_576).default(DEFAULT_SERVER_LIMITS.headerBytes),
  handshakeSeconds: seconds(1, 600).default(DEFAULT_SERVER_LIMITS.handshakeTimeout / 1000),
  requestSeconds: seconds(1, 3600).default(DEFAULT_SERVER_LIMITS.requestTimeout / 1000),
  idleSeconds: seconds(1, 86_400).default(DEFAULT_SERVER_LIMITS.idleTimeout / 1000),
});

/** The config file of `clusterset-doh serve`. README.md has its table. */
export const ServeConfig = z.strictObject({
  listen: z.string().default("localhost:8443"),
  stateDirectory: z.string().min(1).default(".clusterset-doh"),
  /** The first is canonical: PTR targets are in it. `clusterset.local` is served even where it is not listed. */
  zones: z.array(ZoneName).max(100).default([]),
  /** false: HTTP/1.1 in clear, for a proxy in front. Without files: a self-signed certificate. */
  tls: z.union([z.boolean(), Tls]).default(true),
  federations: z.array(Federation).max(100).default([]),
  sourceCluster: SourceCluster.prefault({}),
  stub: Stub.prefault({}),
  push: z.strictObject({ credentials: z.array(Credential).max(10_000).default([]) }).prefault({}),
  /** What a name outside every zone gets. */
  outsideZones: z.enum(["refuse", "nxdomain"]).default("refuse"),
  /** Where a ClusterSetIP service's addresses come from for askers outside every cluster: the first that has any. */
  outsideOrder: z
    .array(z.enum(["ClusterSetIP", "LoadBalancer", "Endpoint"]))
    .min(1)
    .max(3)
    .default([...DEFAULT_OUTSIDE_ORDER]),
  ttlSeconds: seconds(0, 3600).default(5),
  negativeTtlSeconds: seconds(0, 3600).default(5),
  lease: Lease.prefault({}),
  limits: Limits.prefault({}),
  cors: z
    .strictObject({ origins: z.union([z.literal("*"), z.array(z.url()).max(1000)]).default("*") })
    .prefault({}),
  logLevel: z.enum(["debug", "info", "warn", "error"]).default("info"),
});

export type ServeConfig = z.infer<typeof ServeConfig>;
