import { usableAddress } from "../dns/address.ts";
import { RecordType } from "../dns/codes.ts";
import { foldName, formatName, parseName } from "../dns/name.ts";
import type { ClusterFinding, Clusterset, ClustersetService } from "../merge/clusterset.ts";
import { compileClusterSetIP } from "./cluster-set-ip-records.ts";
import { compileHeadless } from "./headless-records.ts";
import { ZoneImage } from "./image.ts";
import { ImageBuilder } from "./image-builder.ts";
import { DEFAULT_ZONE_OPTIONS, type ZoneOptions } from "./options.ts";
import { RecordSets } from "./record-sets.ts";
import { isObjectLabel } from "./service-labels.ts";
import { ServiceScope, type ZoneScope } from "./service-scope.ts";

/** TTL of the schema version record in seconds, as the specification prints it (2.2). */
const DNS_VERSION_TTL = 28800;
/** The version of the multicluster DNS schema (specification section 1). */
const DNS_VERSION = "1.0.0";

/**
 * Compiles a clusterset into a ZoneImage by the multicluster DNS specification 1.0.0. What cannot be a DNS
 * record becomes a finding; everything beside it is compiled.
 * @throws {NameError} when a zone name is malformed. @throws {CapacityError} when a limit of the format is passed.
 */
export function compileZoneImage(
  clusterset: Clusterset,
  given: Partial<ZoneOptions> = {},
): { readonly image: ZoneImage; readonly findings: readonly ClusterFinding[] } {
  const options = { ...DEFAULT_ZONE_OPTIONS, ...given };
  const zoneNames = [...new Set(options.zones.map((zone) => formatName(foldName(parseName(zone)))))];
  if (zoneNames.length === 0) throw new RangeError("an image needs at least one zone");
  const zoneBytes = zoneNames.map((zone) => parseName(zone).length);
  const builder = new ImageBuilder();
  const findings: ClusterFinding[] = [];
  const views = clusterset.clusters.map(({ clusterId }) => clusterId);
  const zone: ZoneScope = {
    builder,
    views: new Map(views.map((clusterId, index) => [clusterId, index])),
    ttl: builder.ttl(options.ttl),
    shortestZoneBytes: Math.min(...zoneBytes),
    canonicalZoneBytes: zoneBytes[0]!,
    findings,
  };
  const nameServerNode = compileZoneItself(zone, options);
  for (const service of clusterset.services) compileService(zone, service);
  const namespaces = new Map(clusterset.clusters.map((cluster) => [cluster.clusterId, cluster.namespaces]));
  const bytes = builder.finish({
    zones: zoneNames,
    views,
    negativeTtl: options.negativeTtl,
    serial: options.serial,
    nameServerNode,
    lacks: (view, namespace) => !namespaces.get(view)!.has(namespace),
  });
  return { image: ZoneImage.load(bytes), findings };
}

function compileZoneItself({ builder, ttl }: ZoneScope, options: ZoneOptions): number {
  const version = new RecordSets();
  const text = Uint8Array.from(DNS_VERSION, (character) => character.charCodeAt(0));
  version.addRdata(RecordType.TXT, Uint8Array.of(text.length, ...text), builder.ttl(DNS_VERSION_TTL), 0);
  builder.setRecords(builder.nodes.child(0, "dns-version", 0), version);
  const nameServer = new RecordSets();
  for (const address of options.nameServerAddresses) {
    const octets = usableAddress(address);
    if (octets === undefined)
      throw new RangeError(`the name server address ${JSON.stringify(address)} is no IP address`);
    nameServer.addAddress(octets, ttl, 0);
  }
  const nameServerNode = builder.nodes.child(builder.nodes.child(0, "dns", 0), "ns", 0);
  builder.setRecords(nameServerNode, nameServer);
  // An empty zone still answers NODATA, not NXDOMAIN, at the name that all services hang below.
  builder.nodes.child(0, "svc", 0);
  return nameServerNode;
}

function compileService(zone: ZoneScope, service: ClustersetService): void {
  const { namespace, name } = service;
  const scope = new ServiceScope(zone, service);
  if (!isObjectLabel(name) || !isObjectLabel(namespace)) {
    scope.report(
      service.toldBy[0] ?? "",
      "InvalidName",
      `${namespace}/${name} cannot be labels of a DNS name: the service is not served`,
    );
    return;
  }
  let known: number | undefined;
  const node = () => {
    const { nodes } = zone.builder;
    known ??= nodes.child(
      nodes.child(nodes.child(0, "svc", 0), namespace, scope.namespaceIndex),
      name,
      scope.namespaceIndex,
    );
    return known;
  };
  if (service.type === "Headless") compileHeadless(scope, node);
  else compileClusterSetIP(scope, node());
}
