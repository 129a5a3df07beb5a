import * as z from "zod";
import { parseAddress } from "../dns/address.ts";
import { ClusterId } from "../snapshot/schema.ts";
import { OutsideZones } from "./forward.ts";
import {
  AddressRangeText,
  count,
  IpAddress,
  NEAR_NETWORKS,
  parseListenAddress,
  UsageError,
  ZoneName,
} from "./values.ts";

const ADDRESS_RULE =
  "must be an IP address and a port, such as 127.0.0.1:5353, [::1]:5353, localhost:5353, or :53 for every address";

/** An address to listen on, with the view of its clients. The short form is the address alone. */
const Listen = z.preprocess(
  (value) => (typeof value === "string" ? { address: value } : value),
  z.strictObject({
    address: z.string(ADDRESS_RULE).refine(isPlace, ADDRESS_RULE),
    /** The cluster whose view all clients have here. */
    view: ClusterId.optional(),
    /** The rule of `access.rules` that admits all clients here. Default: the public rule. */
    rule: z.string().min(1).max(63).optional(),
    /** The answers to names out of zone here. Default: those of the setting `outsideZones`. */
    outsideZones: OutsideZones.optional(),
  }),
);

const streamLimits = {
  connections: count(1, 1_000_000).default(1000),
  connectionsPerClient: count(1, 1_000_000).default(100),
  /** The most queries of one connection that wait for other name servers. */
  queriesPerConnection: count(1, 65_536).default(100),
  /** A connection without a complete query is closed after this time. */
  idleSeconds: count(1, 3600).default(30),
};

const RateLimit = z.strictObject({
  /** The rate of UDP answers to one network of clients (/24, /56); 0 for no limit. */
  answersPerSecond: count(0, 1_000_000).default(100),
  /** The burst of answers to such a network. */
  burst: count(1, 10_000_000).default(500),
  /** Above the limit, one in this many queries gets a truncated answer, the others none; 0 for no answers. */
  slip: count(0, 100).default(2),
  /** Networks without a limit. */
  exempt: z.array(AddressRangeText).max(1000).default(NEAR_NETWORKS),
});

export type Dns = z.infer<typeof Dns>;

/** Plain DNS over UDP and TCP. */
export const Dns = z.strictObject({
  listen: z.array(Listen).max(100).default([]),
  /** The longest UDP answer in bytes. DNS Flag Day 2020: 1232 passes nearly every network in one piece. */
  payloadBytes: count(512, 4096).default(1232),
  rateLimit: RateLimit.prefault({}),
  ...streamLimits,
});

export type Dot = z.infer<typeof Dot>;

/** DNS over TLS. */
export const Dot = z.strictObject({ listen: z.array(Listen).max(100).default([]), ...streamLimits });

const port = count(1, 65_535);

export type Ddr = z.infer<typeof Ddr>;

/** The encrypted resolver that clients of plain DNS can discover (RFC 9462). */
export const Ddr = z.strictObject({
  /** The name in its certificate; without it there is no designated resolver. */
  name: ZoneName.optional(),
  /** Required if the name is in a zone of the gateway: then no other name server has its addresses. */
  addresses: z.array(IpAddress).max(20).default([]),
  /** The port of DNS over HTTPS for clients; default: the port on which the gateway listens. */
  httpsPort: port.optional(),
  /** The port of DNS over TLS, for clients outside every cluster. */
  dotPort: port.optional(),
});

export type ListenPlace = Dns["listen"][number];

/** Reads the addresses of `--dns` or `--dot`. @throws {UsageError} with the flag */
export function readListenFlags(flag: "--dns" | "--dot", texts: readonly string[]): ListenPlace[] {
  return texts.map((text) => {
    const checked = Listen.safeParse(text);
    if (checked.success) return checked.data;
    throw new UsageError(`${flag} ${JSON.stringify(text)} ${checked.error.issues[0]!.message}`);
  });
}

function isPlace(text: string): boolean {
  try {
    const { host } = parseListenAddress(text);
    return host === undefined || host === "localhost" || parseAddress(host) !== undefined;
  } catch {
    return false;
  }
}
