import * as z from "zod";
import { FileName, oneOf } from "./hosts.ts";
import { count, countOf, text } from "./values.ts";

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
  passwordFile: FileName,
  database: count(0, 99_999).default(0),
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
    username: text.optional(),
    passwordFile: FileName,
    /** Certificates in PEM of the authorities that sign the engine's. */
    caFile: FileName,
    /** The certificate for servers that demand one, and its key. */
    certificateFile: FileName,
    keyFile: FileName,
    /** What all keys begin with: gateways that have the same share one log. */
    prefix: z
      .string()
      .regex(PREFIX, "must be 1 to 64 letters, digits, and . _ : -")
      .default("clusterset-doh"),
    /** Leases end at the latest this long after their time while the engine is gone. */
    leaseHoldSeconds: count(0, 604_800).default(3600),
  })
  .check(oneOf(["url", "sentinel", "cluster"]))
  .refine(
    (value) => countOf(value, ["certificateFile", "keyFile"]) !== 1,
    "must have both of certificateFile and keyFile, or none",
  );

function isRedisUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash } = new URL(text);
  const isPlain = search === "" && hash === "" && /^(?:\/\d{0,5})?$/.test(pathname);
  return (protocol === "redis:" || protocol === "rediss:") && hostname !== "" && isPlain;
}

function isHostPort(text: string): boolean {
  return /^[^/@?#\s]+$/.test(text) && isRedisUrl(`redis://${text}`);
}
