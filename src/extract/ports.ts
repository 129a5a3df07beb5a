import type { EndpointPort, ServicePort } from "../snapshot/schema.ts";
import { compareText, keepFirst, omitUndefined, quote, readBoundedText, readList } from "./fields.ts";
import type { Report } from "./findings.ts";

const MOST_PORTS = 1000;
const MOST_KEY = 4000;

/**
 * The ports of a Service or a ServiceImport, in their order. An unnamed port has the name ""; the default
 * protocol is TCP. A port that a snapshot cannot hold becomes an `InvalidPort` finding.
 */
export function readServicePorts(report: Report, value: unknown): ServicePort[] {
  const ports = readList(value).flatMap((element, index): ServicePort[] => {
    const field = `spec.ports[${index}]`;
    const port = readPort(report, field, element);
    if (port === undefined) return [];
    const { appProtocol } = element as { readonly appProtocol?: unknown };
    return [
      omitUndefined({
        ...port,
        appProtocol: readBoundedText(report, `${field}.appProtocol`, appProtocol, 317),
      }),
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
  for (const [index, element] of readList(value).entries()) {
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
export function portSetText(ports: readonly EndpointPort[]): string {
  return ports.length === 0 ? "*" : ports.map(portKey).join(",");
}

/**
 * Keys for endpoint groups by their {@link portSetText}: the text itself, or, if it is too long for a
 * snapshot, its start and a number.
 */
export function portSetKeys(texts: readonly string[]): Map<string, string> {
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
  report(
    "InvalidPort",
    `${field} holds ${quote(value)}; a port needs a number of 32 bits, and may have a name of up to 63 characters and a protocol; it is left out`,
  );
  return undefined;
}

function isTextUpTo(value: unknown, most: number): boolean {
  return value === undefined || value === null || (typeof value === "string" && value.length <= most);
}

// A name that no API server accepts is escaped in parentheses, so that keys have no white space and stay distinct.
function portKey({ name, protocol, port }: EndpointPort): string {
  return `${name === "" ? "(unnamed)" : keyPart(name)}/${keyPart(protocol)}/${port}`;
}

function keyPart(text: string): string {
  if (/^[A-Za-z0-9][-A-Za-z0-9._]*$/.test(text)) return text;
  return `(${text.replace(/[^-A-Za-z0-9._]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)})`;
}
