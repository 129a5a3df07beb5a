import type { ApiClient } from "../servers/kubernetes/api-client.ts";
import {
  endpointSlice,
  type KubeObject,
  namespace,
  service,
  serviceSlice,
  sourceClusterLabel,
} from "../servers/kubernetes/objects.ts";
import { inParallel } from "./comparison/ask.ts";
import { clusterSetIpServices, headlessServices } from "./worlds/fixed-services.ts";
import { randomServices } from "./worlds/random-services.ts";
import {
  clusterSetIp,
  endpoint,
  headless,
  type ImportedService,
  objectsOf,
  port,
  slice,
} from "./worlds/services.ts";

/** What one importing cluster's API server holds. */
export interface Fixture {
  services: ImportedService[];
  /** Namespaces that exist; `dying` is being deleted. */
  namespaces: string[];
  /** Objects that belong to no service of the clusterset. */
  others: KubeObject[];
}

/** A namespace with objects in it that is deleted at once, whereas `dying` stays Terminating. */
const deletedNamespace = "gone";
const dyingNamespace = "dying";

const http = port("http", 80, "TCP");
const pg = port("pg", 5432, "TCP");

const servicesElsewhere: ImportedService[] = [dyingNamespace, deletedNamespace, "east-only"].flatMap(
  (ns, index) => [
    clusterSetIp(ns, "web", { ips: [`10.200.9.${index + 1}`], ports: [http] }),
    headless(ns, "db", slice("cluster-a", [pg], [endpoint(`10.8.9.${index + 1}`, "db-0")])),
  ],
);

const idle = headless("idle-only", "db", slice("cluster-a", [pg], [endpoint("10.8.8.1", "db-0", "!ready")]));

/** The clusterset in the cluster `east` or `west`: clusterset IPs and one namespace are a cluster's own. */
export function fixtureOf(cluster: "east" | "west"): Fixture {
  const all = [
    ...clusterSetIpServices,
    ...headlessServices,
    ...servicesElsewhere,
    idle,
    ...randomServices(100, 20_261_121),
  ];
  const isHere = ({ namespace }: ImportedService) => cluster === "east" || namespace !== "east-only";
  const services = all.filter(isHere).map((one) => (cluster === "east" ? one : inWest(one)));
  return {
    services,
    namespaces: [...new Set(services.map(({ namespace }) => namespace)), "bare"].filter(
      (name) => name !== deletedNamespace,
    ),
    others: [
      service("shop", "derived", { clusterIP: "10.96.77.77", ports: [port("http", 80)] }),
      service("data", "own", { clusterIP: "None", ports: [pg] }),
      serviceSlice("data", "own", {
        ports: [pg],
        endpoints: [{ addresses: ["10.8.3.1"], hostname: "own0" }],
      }),
      endpointSlice("data", "stray", {
        labels: { [sourceClusterLabel]: "cluster-a" },
        ports: [pg],
        endpoints: [{ addresses: ["10.8.4.1"], hostname: "stray0" }],
      }),
    ],
  };
}

export async function applyFixture(admin: ApiClient, fixture: Fixture): Promise<void> {
  const namespaces = [...fixture.namespaces, deletedNamespace].map(namespace);
  await inParallel(namespaces, (object) => admin.apply(object));
  const objects = [...fixture.services.flatMap(objectsOf), ...fixture.others];
  await inParallel(objects, (object) => admin.apply(object));
  await admin.terminateNamespace(dyingNamespace);
  await admin.deleteNamespace(deletedNamespace);
}

function inWest(service: ImportedService): ImportedService {
  const { spec } = service;
  if (spec === undefined || spec === "none" || spec.ips === undefined) return service;
  const ips = spec.ips.map((ip) => ip.replace(/^10\.200\./, "10.201.").replace(/^fd00::c8:/, "fd00::c9:"));
  return { ...service, spec: { ...spec, ips } };
}
