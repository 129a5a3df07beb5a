import * as z from "zod";
import { DEFAULT_OUTSIDE_ORDER } from "../merge/addresses.ts";
import { ClusterId } from "../snapshot/schema.ts";
import { Access, PushCredential, ServicePattern, TransferCredential } from "./access.ts";
import { Federation, SourceCluster, Stub } from "./federations.ts";
import { Forward, OutsideZones, Paths, requireUpstreams } from "./forward.ts";
import { EDGE, FileName, need, needAll, onHost, SERVER } from "./hosts.ts";
import { Clients, Limits } from "./limits.ts";
import { Ddr, Dns, Dot } from "./listeners.ts";
import { Location } from "./location.ts";
import { Store } from "./store.ts";
import { count, IpAddress, parseListenAddress, ZoneName } from "./values.ts";

/** The most threads that answer clients. */
export const MOST_THREADS = 256;

const Lease = z
  .strictObject({
    minimumSeconds: count(1, 86_400).default(5),
    /** The lease of workers that request none. */
    defaultSeconds: count(1, 86_400).default(60),
    maximumSeconds: count(1, 86_400).default(3600),
  })
  .refine(
    ({ minimumSeconds, defaultSeconds, maximumSeconds }) =>
      minimumSeconds <= defaultSeconds && defaultSeconds <= maximumSeconds,
    "must have minimumSeconds <= defaultSeconds <= maximumSeconds",
  );

const Tls = z
  .strictObject({
    certificateFile: FileName,
    keyFile: FileName,
    /**
     * Certificates in PEM of the authorities for clients that register federations, and for credentials that
     * are certificates.
     */
    clientCaFile: FileName,
  })
  .refine(
    ({ certificateFile, keyFile }) => (certificateFile === undefined) === (keyFile === undefined),
    "must have certificateFile and keyFile together",
  );

const ORIGIN = "must be a web origin as browsers send it, such as https://app.example.org";
const PUBLIC_URL = "must be https://HOST or https://HOST:PORT, such as https://doh.example.org";

/** Every setting, with what a host needs for it. docs/reference/configuration.md has its table. */
const Settings = z
  .strictObject({
    /**
     * The first is canonical: PTR targets are in it. `clusterset.local` is served even if it is not listed.
     */
    zones: z.array(ZoneName).max(100).default([]),
    federations: z.array(Federation).max(100).default([]),
    sourceCluster: SourceCluster.prefault({}),
    location: Location.prefault({ source: "off" }),
    /** How clients are identified, and the limits of each. */
    clients: Clients.prefault({}),
    /** The answer to a name out of zone. */
    outsideZones: OutsideZones.default("refuse"),
    paths: Paths,
    /**
     * Sources of a ClusterSetIP service's addresses for clients outside every cluster; the first with an
     * address counts.
     */
    outsideOrder: z
      .array(z.enum(["ClusterSetIP", "LoadBalancer", "Endpoint"]))
      .min(1)
      .max(3)
      .default([...DEFAULT_OUTSIDE_ORDER]),
    /**
     * Addresses of `ns.dns.<zone>`, for delegation by a parent zone. Default: those on which the gateway
     * answers public plain DNS.
     */
    nameServerAddresses: z.array(IpAddress).max(20).optional(),
    ttlSeconds: count(0, 3600).default(5),
    negativeTtlSeconds: count(0, 3600).default(5),
    /** The cluster whose export decides the properties of a service, instead of the oldest. */
    services: z
      .array(z.strictObject({ service: ServicePattern, owner: ClusterId }))
      .max(10_000)
      .default([]),
    lease: Lease.prefault({}),
    /** One line for each push, registration and transfer (docs/reference/audit-log.md). */
    audit: z
      .strictObject({
        enabled: z.boolean().default(true),
        /**
         * The rate and the burst of lines of one source: a credential, or the clients without one in one
         * network.
         */
        linesPerSecond: count(1, 100_000).default(10),
        lineBurst: count(1, 1_000_000).default(600),
        /** The file for lines, instead of the ordinary log. */
        logFile: FileName,
      })
      .prefault({}),
    /** The gateway's URL for clients. Default: pages use the address of their request. */
    publicUrl: z
      .url({ protocol: /^https$/, error: PUBLIC_URL, abort: true })
      .refine((text) => new URL(text).href === `${new URL(text).origin}/`, PUBLIC_URL)
      .optional(),
    /** The pages for people: `/`, `/setup` and the pages that they link to. */
    pages: z.strictObject({ enabled: z.boolean().default(true) }).prefault({}),
    /**
     * Web origins whose scripts may read answers; `*` counts for answers of the rule `public` only. Default:
     * `*`, but none if only the network admits clients.
     */
    cors: z
      .strictObject({
        origins: z
          .union([
            z.literal("*"),
            z.array(z.url({ error: ORIGIN, abort: true }).refine(isOrigin, ORIGIN)).max(1000),
          ])
          .optional(),
      })
      .prefault({}),
    forward: Forward,
    access: Access.prefault({}),
    limits: Limits.prefault({}),
    stateDirectory: need("files", z.string().min(1).default(".clusterset-doh")),
    ...needAll("sockets", {
      listen: z.string().superRefine(checkListenAddress).default("localhost:8443"),
      /** Valkey or Redis, instead of the state folder. */
      store: Store.optional(),
      /** false: HTTP/1.1 in clear, for a proxy in front. Without files: a self-signed certificate. */
      tls: z.union([z.boolean(), Tls], "must be true, false, or the files of a certificate").default(true),
      dns: Dns.prefault({}),
      dot: Dot.prefault({}),
      ddr: Ddr.prefault({}),
      stub: Stub.prefault({}),
    }),
    ...needAll("processes", {
      /**
       * Threads that answer clients, beside the one that takes pushes. 0: that one answers, too. auto: by
       * what the process may use.
       */
      threads: z
        .union(
          [z.literal("auto"), count(0, MOST_THREADS)],
          `must be auto or a number from 0 to ${MOST_THREADS}`,
        )
        .default(1),
      push: z.strictObject({ credentials: z.array(PushCredential).max(10_000).default([]) }).prefault({}),
      /** The credentials of secondaries (docs/reference/transfer.md). */
      transfer: z
        .strictObject({
          credentials: z.array(TransferCredential).max(10_000).default([]),
          /** The key that signs states and roots. Default: they are not signed. */
          keyFile: FileName,
        })
        .prefault({}),
      logLevel: z.enum(["debug", "info", "warn", "error"]).default("info"),
    }),
  })
  .superRefine(requireUpstreams);

/** The config file of `clusterset-doh serve`. */
export const ServeConfig = /* @__PURE__ */ onHost(Settings, SERVER);
export type ServeConfig = z.infer<typeof ServeConfig>;

/** The variable `CONFIG` of the Worker and of secondaries, and the settings of an embedded gateway. */
export const EdgeConfig = onHost(Settings, EDGE);
export type EdgeConfig = z.infer<typeof EdgeConfig>;

/** The variable `PUSH_CREDENTIALS` of these hosts. */
export const EdgePushCredentials = onHost(z.array(PushCredential).max(10_000), EDGE);

function isOrigin(text: string): boolean {
  const { origin, protocol, host } = new URL(text);
  return text === (origin === "null" ? `${protocol}//${host}` : origin);
}

function checkListenAddress(text: string, context: z.RefinementCtx): void {
  try {
    parseListenAddress(text);
  } catch (error) {
    context.addIssue({ code: "custom", message: (error as Error).message });
  }
}
