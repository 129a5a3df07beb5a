import * as z from "zod";
import { parseNameserver } from "../forward/local.ts";
import { FileName, need } from "./hosts.ts";
import { AddressRangeText, count, IpAddress, ZoneName } from "./values.ts";

/** The answer to a name out of zone. */
export const OutsideZones = z.enum(["refuse", "nxdomain", "forward"]);

/** First segments of paths with another use. */
const TAKEN =
  /^\/(?:api|conflicts|explain|federations|healthz|login|logout|metrics|readyz|services|setup|status|tokens)(?:\/|$)/;
/** Paths whose policy may be set, but that have no further DNS resources below. */
const ENDS = ["/clusters", "/resolve"];

const PathText = z
  .string()
  .max(200)
  .regex(
    /^(?:\/[A-Za-z0-9][A-Za-z0-9._~-]*)+$/,
    "must be a path of letters, digits and -._~ such as /everything or /dns-query/everything",
  )
  .refine((path) => !TAKEN.test(path), "is in use for something else: choose another")
  .refine(
    (path) => !ENDS.some((end) => path.startsWith(`${end}/`)),
    "must be /clusters or /resolve itself, or a path that does not start with them",
  );

/**
 * Paths with a policy of their own: /dns-query, /resolve, /clusters (the paths below it), or any other path,
 * which becomes a DNS resource like /dns-query.
 */
export const Paths = z
  .array(z.strictObject({ path: PathText, outsideZones: OutsideZones }))
  .max(100)
  .refine(
    (paths) => new Set(paths.map(({ path }) => path)).size === paths.length,
    "must not have a path twice",
  )
  .default([]);

const UpstreamName = z
  .string()
  .regex(/^[\w.:[\]-]{1,64}$/, "must be 1 to 64 letters, digits and any of -._:[]");

const Nameserver = z
  .string()
  .refine(
    (text) => parseNameserver(text) !== undefined,
    "must be an IP address, IPv4:port, [IPv6]:port, or an https:// URL such as https://dns.example.net/dns-query",
  );

const HttpsNameserver = z
  .string()
  .refine(
    (text) => parseNameserver(text)?.kind === "https",
    "must be an https:// URL such as https://dns.example.net/dns-query: this host has no plain DNS",
  );

/** An upstream. The short form is its server alone. */
const Upstream = z.preprocess(
  (value) => (typeof value === "string" ? { server: value } : value),
  z.strictObject({
    server: need("sockets", Nameserver, HttpsNameserver),
    name: UpstreamName.optional(),
    /** Addresses of the URL's host, so that it needs no look-up. */
    addresses: need("sockets", z.array(IpAddress).max(20).default([])),
    /** Certificates to trust instead of the system's. */
    caFile: FileName,
    /** A bearer token for the upstream. */
    tokenFile: FileName,
    /** Whether its answers may give any name a private address. */
    privateAddresses: z.boolean().default(false),
  }),
);

const Cache = z
  .strictObject({
    bytes: count(65_536, 2 ** 32).default(16 * 1024 * 1024),
    minimumTtlSeconds: count(0, 3600).default(0),
    maximumTtlSeconds: count(1, 604_800).default(86_400),
    maximumNegativeTtlSeconds: count(1, 86_400).default(3600),
    /**
     * How long an expired answer may be used if no newer one is available (RFC 8767 section 5: 1 to 3 days).
     */
    staleSeconds: count(0, 604_800).default(86_400),
  })
  .refine(
    ({ minimumTtlSeconds, maximumTtlSeconds }) => minimumTtlSeconds <= maximumTtlSeconds,
    "must have minimumTtlSeconds <= maximumTtlSeconds",
  );

const Clients = z.strictObject({
  /** Addresses of clients that may use upstreams. Default: all. */
  allowed: z.array(AddressRangeText).min(1).max(1000).optional(),
  /**
   * The rate of one client: an IPv4 address, or a /64. Only queries that are not in the cache count; 0 for no
   * limit.
   */
  queriesPerSecond: count(0, 1_000_000).default(50),
  burst: count(1, 1_000_000).default(500),
  /** Addresses with many clients behind them, which have no limit. */
  exempt: z.array(AddressRangeText).max(1000).default(["127.0.0.0/8", "::1"]),
});

/** Forwarding of names out of zone. */
export const Forward = z
  .strictObject({
    /** In the order of preference. */
    upstreams: z.array(Upstream).max(16).default([]),
    serverMilliseconds: count(1, 60_000).default(3000),
    totalMilliseconds: count(1, 60_000).default(5000),
    /** The time after which a query to a slow upstream also goes to the next one; 0 for never. */
    hedgeMilliseconds: count(0, 60_000).default(300),
    queriesInFlight: count(1, 100_000).default(1000),
    /** The longest accepted answer of an upstream in bytes. */
    answerBytes: count(512, 65_535).default(16_384),
    cache: Cache.prefault({}),
    clients: Clients.prefault({}),
    locallyServed: z
      .strictObject({
        /** Further zones whose names get NXDOMAIN, beside the locally served zones. */
        also: z.array(ZoneName).max(1000).default([]),
        /** Locally served zones that are forwarded nevertheless. */
        except: z.array(ZoneName).max(1000).default([]),
      })
      .prefault({}),
    /** Addresses that names out of zone may not have (DNS rebinding). */
    privateAddresses: z
      .strictObject({
        also: z.array(AddressRangeText).max(1000).default([]),
        except: z.array(AddressRangeText).max(1000).default([]),
        /** Domains whose names may have them, and CNAME targets in the gateway's zones. */
        names: z.array(ZoneName).max(1000).default([]),
      })
      .prefault({}),
    /** Whether names have random case over plain DNS. */
    randomizeCase: need("sockets", z.boolean().default(true)),
  })
  .refine(
    ({ serverMilliseconds, totalMilliseconds }) => serverMilliseconds <= totalMilliseconds,
    "must have serverMilliseconds <= totalMilliseconds",
  )
  .refine(
    ({ upstreams }) => new Set(upstreams.map(upstreamName)).size === upstreams.length,
    "must have upstreams with different names: give them `name`",
  )
  .prefault({});

export type Forward = z.infer<typeof Forward>;
export type OutsideZones = z.infer<typeof OutsideZones>;

/** The name of an upstream in answers, logs and metrics, without a URL's path, which may be a secret. */
export function upstreamName({
  server,
  name,
}: {
  readonly server: string;
  readonly name?: string | undefined;
}): string {
  if (name !== undefined) return name;
  const place = parseNameserver(server);
  return place?.kind === "https" ? place.url.host : server;
}

type Listening = { readonly listen: readonly { readonly outsideZones?: OutsideZones | undefined }[] };

/** The settings of answers to names out of zone. */
interface OutsideSettings {
  readonly outsideZones: OutsideZones;
  readonly paths: readonly { readonly outsideZones: OutsideZones }[];
  readonly dns?: Listening | undefined;
  readonly dot?: Listening | undefined;
}

/** Each place of `outsideZones`; a listener may have none. */
export function outsidePolicies({ outsideZones, paths, dns, dot }: OutsideSettings) {
  const below = (key: string, list: Listening["listen"]) =>
    list.map((one, index) => ({ path: [...key.split("."), index], outsideZones: one.outsideZones }));
  return [
    { path: [], outsideZones },
    ...below("paths", paths),
    ...below("dns.listen", dns?.listen ?? []),
    ...below("dot.listen", dot?.listen ?? []),
  ];
}

/** Rejects a configuration that forwards names without an upstream. */
export function requireUpstreams(
  settings: OutsideSettings & { readonly forward: { readonly upstreams: readonly unknown[] } },
  context: z.RefinementCtx,
): void {
  if (settings.forward.upstreams.length > 0) return;
  const message =
    "forward needs upstreams: set forward.upstreams, such as [https://dns.example.net/dns-query]";
  for (const { path, outsideZones } of outsidePolicies(settings))
    if (outsideZones === "forward")
      context.addIssue({ code: "custom", path: [...path, "outsideZones"], message });
}

/** The gateway's own answer to names out of zone, which cannot be `forward`. */
export function givenPolicy(outsideZones: OutsideZones): "refuse" | "nxdomain" {
  return outsideZones === "nxdomain" ? "nxdomain" : "refuse";
}
