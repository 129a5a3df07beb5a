import { type FoldedName, labelStart, nameKey, parseZoneName, startOfZone } from "../dns/folded-name.ts";

/** How the gateway itself answers names at and below a zone: with loopback addresses, or with NXDOMAIN. */
export type LocalKind = "loopback" | "nxdomain" | "own";

/** The zone of a name that is never forwarded. */
export interface LocalZone {
  readonly kind: LocalKind;
  /** The offset of the zone's name in that name. */
  readonly start: number;
}

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/**
 * Names that have a meaning only inside a host or a network, and whose queries would reveal facts about it: the special-use names that
 * resolvers answer themselves, and the locally served zones of the IANA registry.
 */
const LOCALLY_SERVED: readonly { readonly zone: string; readonly kind: "loopback" | "nxdomain" }[] = [
  // RFC 6761 section 6.3
  { zone: "localhost", kind: "loopback" },
  // RFC 6761 sections 6.2 and 6.4, RFC 6762 section 22.1, RFC 7686 section 2, RFC 8375 section 4, RFC 9476 section 2, RFC 9462 section 6.4,
  // RFC 9665 section 9.1
  ..."test invalid local onion home.arpa alt resolver.arpa service.arpa".split(" ").map(nonexistent),
  // RFC 6303 section 4.1 and 4.2, RFC 7793
  ...["10", "168.192", "0", "127", "254.169", "2.0.192", "100.51.198", "113.0.203", "255.255.255.255"]
    .concat(range(16, 31).map((byte) => `${byte}.172`))
    .concat(range(64, 127).map((byte) => `${byte}.100`))
    .map((prefix) => nonexistent(`${prefix}.in-addr.arpa`)),
  // RFC 6303 sections 4.3 to 4.6
  ...[
    "0.".repeat(32),
    `1.${"0.".repeat(31)}`,
    "d.f.",
    "8.e.f.",
    "9.e.f.",
    "a.e.f.",
    "b.e.f.",
    "8.b.d.0.1.0.0.2.",
  ].map((prefix) => nonexistent(`${prefix}ip6.arpa`)),
];

function nonexistent(zone: string): { readonly zone: string; readonly kind: "nxdomain" } {
  return { zone, kind: "nxdomain" };
}

/** Locally served zones in addition to those of the standards. */
export interface LocalZoneSettings {
  /** The gateway's own zones, as text. */
  readonly own: readonly string[];
  /** More zones whose names get NXDOMAIN, as text. */
  readonly also: readonly string[];
  /** Zones, or names in them, that are forwarded nevertheless. */
  readonly except: readonly string[];
}

const ARPA = parseZoneName("arpa");

/** Zones by the wire form of their names, with letters folded. */
export class LocalZones {
  readonly #kinds = new Map<string, LocalKind | "forwarded">();

  /** @throws {NameError} if a zone is not a name */
  constructor({ own, also, except }: LocalZoneSettings) {
    for (const { zone, kind } of LOCALLY_SERVED) this.#kinds.set(keyOf(zone), kind);
    for (const zone of also) this.#kinds.set(keyOf(zone), "nxdomain");
    for (const zone of except) this.#kinds.set(keyOf(zone), "forwarded");
    for (const zone of own) this.#kinds.set(keyOf(zone), "own");
  }

  /** The closest enclosing zone of a name; undefined if the name may be forwarded. */
  find(name: FoldedName): LocalZone | undefined {
    const whole = nameKey(name);
    for (let label = 0; label < name.labels; label++) {
      const start = labelStart(name, label);
      const kind = this.#kinds.get(whole.slice(start));
      if (kind === "forwarded") return undefined;
      if (kind !== undefined) return { kind, start };
    }
    return undefined;
  }
}

/** Whether a name is below `arpa`, the domain of reverse names. */
export function isInArpa(name: FoldedName): boolean {
  return startOfZone(name, ARPA) >= 0;
}

function keyOf(zone: string): string {
  return String.fromCharCode(...parseZoneName(zone).wire);
}
