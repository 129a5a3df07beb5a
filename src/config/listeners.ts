import * as z from "zod";
import { parseAddress, usableAddress } from "../dns/address.ts";
import { ClusterId } from "../snapshot/schema.ts";
import { OutsideZones } from "./forward.ts";
import { parseListenAddress } from "./values/listen-address.ts";
import { UsageError } from "./values/usage-error.ts";
import { AddressRangeText, IpAddress, NEAR_NETWORKS, ZoneName } from "./values/values.ts";

const seconds = (least: number, most: number) => z.int().min(least).max(most);
const count = (least: number, most: number) => z.int().min(least).max(most);

const ADDRESS_RULE =
  "must be an IP address and a port, such as 127.0.0.1:5353, [::1]:5353, localhost:5353, or :53 for every address";

/** An address to listen on, with the view of those who ask there; in short the address alone. */
const Listen = z.preprocess(
  (value) => (typeof value === "string" ? { address: value } : value),
  z.strictObject({
    address: z.string(ADDRESS_RULE).refine(isPlace, ADDRESS_RULE),
    /** The cluster that everybody who asks here asks as. */
    view: ClusterId.optional(),
    /** The rule of `access.rules` whose scope everybody who asks here has. Default: what everybody sees. */
    rule: z.string().min(1).max(63).optional(),
    /** What names outside every zone get here. Default: what they get everywhere. */
    outsideZones: OutsideZones.optional(),
  }),
);

const streamLimits = {
  connections: count(1, 1_000_000).default(1000),
  connectionsPerClient: count(1, 1_000_000).default(100),
  /** Queries of one connection that wait for other name servers. */
  queriesPerConnection: count(1, 65_536).default(100),
  /** A connection without a whole query for so long is closed. */
  idleSeconds: seconds(1, 3600).default(30),
};

const RateLimit = z.strictObject({
  /** UDP answers to one network of clients (/24, /56); 0 for any number. */
  answersPerSecond: count(0, 1_000_000).default(100),
  /** Answers that such a network may take at once after a pause. */
  burst: count(1, 10_000_000).default(500),
  /** Every so many queries beyond the limit get a truncated answer, the others none; 0 for none at all. */
  slip: count(0, 100).default(2),
  /** Networks without a limit. */
  exempt: z.array(AddressRangeText).max(1000).default(NEAR_NETWORKS),
});

/** Plain DNS over UDP and TCP. */
export const Dns = z.strictObject({
  listen: z.array(Listen).max(100).default([]),
  /** The longest UDP answer in octets. DNS Flag Day 2020: 1232 passes nearly every network in one piece. */
  payloadBytes: count(512, 4096).default(1232),
  rateLimit: RateLimit.prefault({}),
  ...streamLimits,
});

/** DNS over TLS. */
export const Dot = z.strictObject({ listen: z.array(Listen).max(100).default([]), ...streamLimits });

const port = z.int().min(1).max(65_535);

/** The encrypted resolver that clients of the others are told of (RFC 9462). */
export const Ddr = z.strictObject({
  /** The name that its certificate holds; nothing is told without one. */
  name: ZoneName.optional(),
  /** Needed where the name is in a zone of the gateway: then nobody else can tell them. */
  addresses: z.array(IpAddress).max(20).default([]),
  /** Where clients reach DNS over HTTPS; unless told, where the gateway listens. */
  httpsPort: port.optional(),
  /** Likewise DNS over TLS, for who asks from outside every cluster. */
  dotPort: port.optional(),
});

export type Dns = z.infer<typeof Dns>;
export type Dot = z.infer<typeof Dot>;
export type Ddr = z.infer<typeof Ddr>;
export type ListenPlace = Dns["listen"][number];

/** Reads the places of `--dns` or `--dot`. @throws {UsageError} naming the flag */
export function readListenFlags(flag: "--dns" | "--dot", texts: readonly string[]): ListenPlace[] {
  return texts.map((text) => {
    const checked = Listen.safeParse(text);
    if (checked.success) return checked.data;
    throw new UsageError(`${flag} ${JSON.stringify(text)} ${checked.error.issues[0]!.message}`);
  });
}

interface NamingSettings {
  readonly dns: Dns;
  readonly dot: Dot;
  readonly ddr: Ddr;
  readonly access: { readonly hostNames: readonly string[] };
}

/** Names and addresses beside the host's own that a certificate should hold: for DNS over TLS, designated resolvers, and tokens in host names. */
export function namesInCertificate({ dns, dot, ddr, access }: NamingSettings): string[] {
  const hosts = [...dns.listen, ...dot.listen].map(({ address }) => parseListenAddress(address).host ?? "");
  const addresses = hosts.filter((host) => usableAddress(host) !== undefined);
  const tokens = access.hostNames.map(canonical).flatMap((name) => [name, `*.${name}`]);
  return [
    ...new Set([
      ...(ddr.name === undefined ? [] : [canonical(ddr.name)]),
      ...ddr.addresses,
      ...addresses,
      ...tokens,
    ]),
  ];
}

/** A name without its trailing dot, in lower case. */
export function canonical(name: string): string {
  return name.replace(/\.$/, "").toLowerCase();
}

function isPlace(text: string): boolean {
  try {
    const { host } = parseListenAddress(text);
    return host === undefined || host === "localhost" || parseAddress(host) !== undefined;
  } catch {
    return false;
  }
}
