import * as z from "zod";
import { Access } from "./access/access.ts";
import { PushCredential } from "./access/push-credentials.ts";
import { Audit } from "./audit.ts";
import { Stub } from "./federations.ts";
import { Forward, requireUpstreams } from "./forward.ts";
import { gatewayLimits, gatewaySettings } from "./gateway.ts";
import { Clients } from "./limits/clients.ts";
import { controlLimits } from "./limits/control-limits.ts";
import { serverLimits } from "./limits/server-limits.ts";
import { Ddr, Dns, Dot } from "./listeners.ts";
import { Store } from "./store.ts";
import { TransferCredential } from "./values/values.ts";

/** The most threads that answer clients. */
export const MOST_THREADS = 256;

const Tls = z
  .strictObject({
    certificateFile: z.string().min(1).optional(),
    keyFile: z.string().min(1).optional(),
    /** Certificates in PEM of the authorities for clients that register federations, and for credentials that are certificates. */
    clientCaFile: z.string().min(1).optional(),
  })
  .refine(
    ({ certificateFile, keyFile }) => (certificateFile === undefined) === (keyFile === undefined),
    "must have certificateFile and keyFile together",
  );

const Limits = z.strictObject({ ...gatewayLimits, ...controlLimits, ...serverLimits });

const Settings = z.strictObject({
  ...gatewaySettings,
  listen: z.string().default("localhost:8443"),
  stateDirectory: z.string().min(1).default(".clusterset-doh"),
  /** Valkey or Redis, instead of the state folder. */
  store: Store.optional(),
  /** false: HTTP/1.1 in clear, for a proxy in front. Without files: a self-signed certificate. */
  tls: z.union([z.boolean(), Tls], "must be true, false, or the files of a certificate").default(true),
  /** Threads that answer clients, beside the one that takes pushes. 0: that one answers, too. auto: by what the process may use. */
  threads: z
    .union(
      [z.literal("auto"), z.int().min(0).max(MOST_THREADS)],
      `must be auto or a number from 0 to ${MOST_THREADS}`,
    )
    .default(1),
  audit: Audit.prefault({}),
  clients: Clients.prefault({}),
  dns: Dns.prefault({}),
  dot: Dot.prefault({}),
  ddr: Ddr.prefault({}),
  stub: Stub.prefault({}),
  forward: Forward,
  push: z.strictObject({ credentials: z.array(PushCredential).max(10_000).default([]) }).prefault({}),
  /** The credentials of secondaries (docs/reference/transfer.md). */
  transfer: z
    .strictObject({
      credentials: z.array(TransferCredential).max(10_000).default([]),
      /** The key that signs states and roots. Default: they are not signed. */
      keyFile: z.string().min(1).optional(),
    })
    .prefault({}),
  access: Access.prefault({}),
  limits: Limits.prefault({}),
  logLevel: z.enum(["debug", "info", "warn", "error"]).default("info"),
});

/** The config file of `clusterset-doh serve`. docs/reference/configuration.md has its table. */
export const ServeConfig = Settings.superRefine(requireUpstreams);

export type ServeConfig = z.infer<typeof ServeConfig>;
