import type { Endpoint, EndpointGroups, EndpointPort, ServicePort } from "../snapshot/schema.ts";
import {
  compareText,
  keepFirst,
  quote,
  readBoundedText,
  readList,
  readReportedList,
  readText,
} from "./fields.ts";
import type { FindingCollector, Report } from "./findings.ts";
import type { EndpointSlice, SliceEndpoint } from "./objects.ts";

/** An EndpointSlice with its name, which findings show. */
export interface NamedSlice {
  readonly namespace: string;
  readonly name: string;
  readonly slice: EndpointSlice;
}

interface Group {
  readonly ports: EndpointPort[];
  readonly members: Map<string, Endpoint>;
}

/**
 * The endpoints of all slices of one service, grouped by ports, sorted, without duplicates. While a
 * pod moves between slices both contain it: it is ready if it is ready in one of them, and terminating
 * only if it is terminating in both.
 */
export function mergeSlices(slices: Iterable<NamedSlice>, findings: FindingCollector): EndpointGroups {
  const groups = new Map<string, Group>();
  const ordered = [...slices].sort((left, right) => compareText(left.name, right.name));
  for (const { namespace, name, slice } of ordered) {
    const report = findings.about({ kind: "EndpointSlice", namespace, name });
    if (slice.addressType !== "IPv4" && slice.addressType !== "IPv6") {
      report(
        "UnsupportedAddressType",
        `addressType is ${quote(slice.addressType)}, neither IPv4 nor IPv6; the slice is left out`,
      );
      continue;
    }
    const ports = readEndpointPorts(report, slice.ports);
    const text = portSetText(ports);
    const group = groups.get(text) ?? { ports, members: new Map() };
    groups.set(text, group);
    for (const [index, endpoint] of readReportedList(report, "endpoints", slice.endpoints).entries())
      addEndpoint(group.members, report, `endpoints[${index}]`, endpoint as SliceEndpoint | null | undefined);
  }
  return toRecord(groups);
}

function toRecord(groups: ReadonlyMap<string, Group>): EndpointGroups {
  const filled = [...groups].filter(([, { members }]) => members.size > 0);
  const keys = portSetKeys(filled.map(([text]) => text));
  const record: EndpointGroups = {};
  for (const [text, { ports, members }] of filled.sort(([left], [right]) => compareText(left, right))) {
    const sorted = [...members].sort(([left], [right]) => compareText(left, right));
    record[keys.get(text)!] = { ports, members: Object.fromEntries(sorted) };
  }
  return record;
}

function addEndpoint(
  members: Map<string, Endpoint>,
  report: Report,
  field: string,
  endpoint: SliceEndpoint | null | undefined,
): void {
  const addresses = readList(endpoint?.addresses);
  if (addresses.length === 0) {
    report("InvalidEndpoint", `${field} has no addresses; it is left out`);
    return;
  }
  const conditions = readConditions(report, field, endpoint?.conditions);
  if (conditions === undefined) return;
  const hostname = readHostname(report, field, endpoint?.hostname);
  const zone = readBoundedText(report, `${field}.zone`, endpoint?.zone, 317);
  for (const address of addresses) {
    if (typeof address !== "string" || !/^[^\s_#]{1,64}$/.test(address)) {
      report("InvalidEndpoint", `${field}.addresses holds ${quote(address)}; it is left out`);
      continue;
    }
    const key = hostname === undefined ? address : `${address}#${hostname}`;
    const before = members.get(key);
    const merged = before === undefined ? conditions : uniteConditions(before, conditions);
    members.set(key, { address, hostname, ...merged, zone: before?.zone ?? zone });
  }
}

/** Only the members that differ from a snapshot's defaults. */
type Conditions = Pick<Endpoint, "ready" | "serving" | "terminating">;

function uniteConditions(before: Conditions, after: Conditions): Conditions {
  const inBoth = (name: keyof Conditions) => (before[name] === after[name] ? before[name] : undefined);
  return {
    ready: inBoth("ready"),
    serving: inBoth("serving"),
    terminating: inBoth("terminating"),
  };
}

// discovery.k8s.io/v1: an absent condition is unknown; consumers read it as ready, serving, not terminating.
function readConditions(
  report: Report,
  field: string,
  conditions: SliceEndpoint["conditions"],
): Conditions | undefined {
  const { ready, serving, terminating } = conditions ?? {};
  for (const [name, value] of Object.entries({ ready, serving, terminating })) {
    if (value === undefined || value === null || typeof value === "boolean") continue;
    return report(
      "InvalidEndpoint",
      `${field}.conditions.${name} is ${quote(value)}, neither true nor false; the endpoint is left out`,
    );
  }
  return {
    ...(ready === false ? { ready } : {}),
    ...(serving === false ? { serving } : {}),
    ...(terminating === true ? { terminating } : {}),
  };
}

function readHostname(report: Report, field: string, value: unknown): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  const hostname = readText(value);
  if (hostname !== undefined && /^[^\s_]{1,253}$/.test(hostname)) return hostname;
  return report(
    "InvalidEndpoint",
    `${field}.hostname holds ${quote(value)}, which is not a host name; the endpoint is kept without it`,
  );
}

const MOST_PORTS = 1000;
const MOST_KEY = 4000;

/**
 * The ports of a Service or a ServiceImport, in their order. An unnamed port has the name ""; the default
 * protocol is TCP. A port that a snapshot cannot hold becomes an `InvalidPort` finding.
 */
export function readServicePorts(report: Report, value: unknown): ServicePort[] {
  const ports = readReportedList(report, "spec.ports", value).flatMap((element, index): ServicePort[] => {
    const field = `spec.ports[${index}]`;
    const port = readPort(report, field, element);
    if (port === undefined) return [];
    const { appProtocol } = element as { readonly appProtocol?: unknown };
    return [
      {
        ...port,
        appProtocol: readBoundedText(report, `${field}.appProtocol`, appProtocol, 317),
      },
    ];
  });
  return keepFirst(report, "spec.ports", ports, MOST_PORTS);
}

/**
 * The ports of an EndpointSlice, sorted, without duplicates. A port without a number means all ports
 * (discovery.k8s.io/v1); an SRV record cannot express that, so it is left out.
 */
export function readEndpointPorts(report: Report, value: unknown): EndpointPort[] {
  const ports = new Map<string, EndpointPort>();
  for (const [index, element] of readReportedList(report, "ports", value).entries()) {
    const number = (element as { readonly port?: unknown } | null | undefined)?.port;
    if (element !== null && typeof element === "object" && (number === undefined || number === null))
      continue;
    const port = readPort(report, `ports[${index}]`, element);
    if (port !== undefined) ports.set(portKey(port), port);
  }
  const sorted = [...ports].sort(([left], [right]) => compareText(left, right)).map(([, port]) => port);
  return keepFirst(report, "ports", sorted, MOST_PORTS);
}

/** The ports as one string: `<name>/<protocol>/<number>`, sorted, joined by commas; "*" for none. */
function portSetText(ports: readonly EndpointPort[]): string {
  return ports.length === 0 ? "*" : ports.map(portKey).join(",");
}

/**
 * Keys for endpoint groups by their {@link portSetText}: the text itself, or, if it is too long for a
 * snapshot, its start and a number.
 */
function portSetKeys(texts: readonly string[]): Map<string, string> {
  const keys = new Map<string, string>();
  let long = 0;
  for (const text of [...texts].sort(compareText))
    keys.set(text, text.length <= MOST_KEY ? text : `${text.slice(0, MOST_KEY)},(${++long})`);
  return keys;
}

function readPort(report: Report, field: string, value: unknown): EndpointPort | undefined {
  const { name, protocol, port } = (value ?? {}) as Readonly<Record<keyof EndpointPort, unknown>>;
  const fits =
    isTextUpTo(name, 63) &&
    isTextUpTo(protocol, 16) &&
    typeof port === "number" &&
    Number.isInteger(port) &&
    Math.abs(port) < 2 ** 31;
  if (fits) return { name: (name as string) ?? "", protocol: (protocol as string) || "TCP", port };
  return report(
    "InvalidPort",
    `${field} holds ${quote(value)}; a port needs a number of 32 bits, and may have a name of up to 63 characters and a protocol; it is left out`,
  );
}

function isTextUpTo(value: unknown, most: number): boolean {
  return value === undefined || value === null || (typeof value === "string" && value.length <= most);
}

// A name that no API server accepts is escaped in parentheses, so that keys have no white space and stay
// distinct.
function portKey({ name, protocol, port }: EndpointPort): string {
  return `${name === "" ? "(unnamed)" : keyPart(name)}/${keyPart(protocol)}/${port}`;
}

function keyPart(text: string): string {
  if (/^[A-Za-z0-9][-A-Za-z0-9._]*$/.test(text)) return text;
  return `(${text.replace(/[^-A-Za-z0-9._]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)})`;
}
