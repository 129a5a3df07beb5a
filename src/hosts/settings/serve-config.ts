import * as z from "zod";
import { Access } from "./access-settings.ts";
import { Stub } from "./federation-config.ts";
import { Forward, requireUpstreams } from "./forward-settings.ts";
import { gatewayLimits, gatewaySettings } from "./gateway-settings.ts";
import { Ddr, Dns, Dot } from "./listener-config.ts";
import { PushCredential } from "./push-credentials.ts";
import { DEFAULT_SERVER_LIMITS } from "./server-limits.ts";
import { TokenOrFile } from "./token-settings.ts";

const seconds = (least: number, most: number) => z.int().min(least).max(most);
const count = (least: number, most: number) => z.int().min(least).max(most);

const Tls = z
  .strictObject({
    certificateFile: z.string().min(1).optional(),
    keyFile: z.string().min(1).optional(),
    /** Certificates in PEM of the authorities whose clients may register federations, or push where a credential names them. */
    clientCaFile: z.string().min(1).optional(),
  })
  .refine(
    ({ certificateFile, keyFile }) => (certificateFile === undefined) === (keyFile === undefined),
    "must have certificateFile and keyFile together",
  );

const Limits = z.strictObject({
  ...gatewayLimits,
  connections: count(1, 1_000_000).default(DEFAULT_SERVER_LIMITS.connections),
  streamsPerConnection: count(1, 10_000).default(DEFAULT_SERVER_LIMITS.streamsPerConnection),
  headerBytes: count(4096, 1_048_576).default(DEFAULT_SERVER_LIMITS.headerBytes),
  handshakeSeconds: seconds(1, 600).default(DEFAULT_SERVER_LIMITS.handshakeTimeout / 1000),
  requestSeconds: seconds(1, 3600).default(DEFAULT_SERVER_LIMITS.requestTimeout / 1000),
  idleSeconds: seconds(1, 86_400).default(DEFAULT_SERVER_LIMITS.idleTimeout / 1000),
});

const Settings = z.strictObject({
  ...gatewaySettings,
  listen: z.string().default("localhost:8443"),
  stateDirectory: z.string().min(1).default(".clusterset-doh"),
  /** false: HTTP/1.1 in clear, for a proxy in front. Without files: a self-signed certificate. */
  tls: z.union([z.boolean(), Tls]).default(true),
  dns: Dns.prefault({}),
  dot: Dot.prefault({}),
  ddr: Ddr.prefault({}),
  stub: Stub.prefault({}),
  forward: Forward,
  push: z.strictObject({ credentials: z.array(PushCredential).max(10_000).default([]) }).prefault({}),
  /** Who may take over images, as a secondary does (docs/transfer.md). */
  transfer: z.strictObject({ credentials: z.array(TokenOrFile).max(10_000).default([]) }).prefault({}),
  access: Access.prefault({}),
  limits: Limits.prefault({}),
  logLevel: z.enum(["debug", "info", "warn", "error"]).default("info"),
});

/** The config file of `clusterset-doh serve`. README.md has its table. */
export const ServeConfig = Settings.superRefine(requireUpstreams);

export type ServeConfig = z.infer<typeof ServeConfig>;
