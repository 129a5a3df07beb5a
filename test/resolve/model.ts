import { formatAddress, parseAddress } from "../../src/dns/address.ts";
import type { ClustersetService } from "../../src/merge/clusterset.ts";
import type { Clusterset } from "../merge/merged.ts";

/** The specification in a slow and simple form: every record as text, and answers by a search through all. */
export interface ModelRecord {
  readonly name: string;
  readonly type: string;
  readonly rdata: string;
  /** The namespace that a view's cluster must have. */
  readonly namespace: string | undefined;
}

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/i;
const isLabel = (text: string) => text.length <= 63 && LABEL.test(text);
const fitsName = (name: string) => name.length <= 253;

function usable(text: string): Uint8Array | undefined {
  const bytes = parseAddress(text);
  if (bytes === undefined || bytes.every((byte) => byte === 0)) return undefined;
  return formatAddress(bytes).startsWith("::ffff:") ? undefined : bytes;
}

/** All records of one zone for one view, without PTR records. */
export function modelRecords(clusterset: Clusterset, zone: string, view: string | undefined): ModelRecord[] {
  const records: ModelRecord[] = [
    { name: `dns-version.${zone}`, type: "TXT", rdata: '"1.0.0"', namespace: undefined },
  ];
  for (const service of clusterset.services) {
    if (![service.name, service.namespace].every((text) => isLabel(text) && !/[A-Z]/.test(text))) continue;
    const own = `${service.name}.${service.namespace}.svc.${zone}`;
    const add = (name: string, type: string, rdata: string) => {
      if (fitsName(name))
        records.push({ name: name.toLowerCase(), type, rdata, namespace: service.namespace });
    };
    if (service.type === "ClusterSetIP") clusterSetIP(service, own, view, add);
    else headless(service, own, add);
  }
  const seen = new Set<string>();
  return records.filter(({ name, type, rdata }) => {
    const key = `${name} ${type} ${rdata.toLowerCase()}`;
    return !seen.has(key) && seen.add(key);
  });
}

type Add = (name: string, type: string, rdata: string) => void;

function addAddress(add: Add, name: string, bytes: Uint8Array): void {
  add(name, bytes.length === 4 ? "A" : "AAAA", formatAddress(bytes));
}

function portPrefix(port: { name: string; protocol: string; port: number }): string | undefined {
  const protocol = port.protocol === "" ? "tcp" : port.protocol.toLowerCase();
  if (port.name === "" || !isLabel(port.name) || port.name.length > 62) return undefined;
  if (port.port < 1 || port.port > 65535 || !["tcp", "udp", "sctp"].includes(protocol)) return undefined;
  return `_${port.name.toLowerCase()}._${protocol}`;
}

function clusterSetIP(service: ClustersetService, own: string, view: string | undefined, add: Add): void {
  const chosen = (view === undefined ? undefined : service.byCluster.get(view)) ?? service.outside;
  for (const text of chosen.addresses) {
    const bytes = usable(text);
    if (bytes !== undefined) addAddress(add, own, bytes);
  }
  const { hostname } = chosen;
  if (hostname !== undefined) add(own, "CNAME", hostname);
  for (const name of [own, ...service.ports.flatMap((port) => portPrefix(port)?.concat(".", own) ?? [])])
    add(name, "none", "");
  // RFC 2782: a target must have an address. The names exist in any case.
  if (!chosen.addresses.some((text) => usable(text) !== undefined)) return;
  for (const port of service.ports) {
    // RFC 2782: the port is that of the address, which for an endpoint is where it listens.
    const numbers = (chosen.ports ?? [])
      .filter((one) => one.name === port.name && (one.protocol || "TCP") === port.protocol)
      .map((one) => one.port);
    for (const number of chosen.source === "Endpoint" && numbers.length > 0 ? numbers : [port.port]) {
      const prefix = portPrefix({ ...port, port: number });
      if (prefix === undefined) continue;
      add(own, "SRV", `${number} ${own}`);
      add(`${prefix}.${own}`, "SRV", `${number} ${own}`);
    }
  }
}

function headless(service: ClustersetService, own: string, add: Add): void {
  for (const endpoint of service.endpoints) {
    const bytes = usable(endpoint.address);
    if (bytes === undefined) continue;
    addAddress(add, own, bytes);
    const labels = endpoint.clusterId.split(".");
    if (labels.length > 2 || !labels.every((label) => isLabel(label.replaceAll("_", "x")))) continue;
    const dashes = formatAddress(bytes).replaceAll(/[.:]/g, "-");
    const assigned = dashes.endsWith("-") ? `${dashes}0` : dashes;
    const { hostname } = endpoint;
    const host = hostname !== undefined && isLabel(hostname) ? hostname : assigned;
    const target = `${host}.${endpoint.clusterId}.${own}`;
    if (!fitsName(target)) continue;
    addAddress(add, target, bytes);
    for (const port of endpoint.ports) {
      const prefix = portPrefix(port);
      if (prefix === undefined) continue;
      add(own, "SRV", `${port.port} ${target}`);
      add(`${prefix}.${own}`, "SRV", `${port.port} ${target}`);
    }
  }
}

/** The model's answer: rcode and the records of the answer section, sorted, letters folded. */
export function modelAnswer(
  records: readonly ModelRecord[],
  zone: string,
  namespaces: ReadonlySet<string> | undefined,
  name: string,
  type: string,
): { readonly rcode: string; readonly answer: readonly string[] } {
  const asked = name.toLowerCase();
  const visible = records.filter(
    ({ namespace }) => namespace === undefined || namespaces === undefined || namespaces.has(namespace),
  );
  const fixed = [zone, `svc.${zone}`, `ns.dns.${zone}`];
  const exists = [...visible.map((record) => record.name), ...fixed].some(
    (existing) => existing === asked || existing.endsWith(`.${asked}`),
  );
  if (!exists) return { rcode: "NXDOMAIN", answer: [] };
  const answer = visible.filter(
    (record) => record.name === asked && (record.type === type || record.type === "CNAME"),
  );
  return { rcode: "NOERROR", answer: answer.map(({ rdata }) => rdata.toLowerCase()).sort() };
}
