import type { Fixture } from "./fixture.ts";
import { zone } from "./questions.ts";
import type { ImportedSlice, Port } from "./worlds/services.ts";

/** Which names of pods are served, on both sides. */
export type PodMode = "disabled" | "insecure" | "verified";

/** What the differences have to do with in a service. */
export interface PlacedService {
  isHeadless: boolean;
  /** Those that SRV records come from. */
  ports: readonly Port[];
  ips: readonly string[];
  slices: readonly Pick<ImportedSlice, "source" | "addressType">[];
  /** Whether it publishes endpoints that are not ready. */
  isEager: boolean;
}

export interface Place {
  /** `zone` is for every name of a zone that no other word is for. */
  kind: "outside" | "reverse" | "zone" | "namespace" | "service" | "below service" | "pod" | "below pod";
  /** Labels below the zone, or all of them outside of it; in lower case, leftmost first. */
  labels: readonly string[];
  left: readonly string[];
  /** The service that has this name, or whose name this is below. */
  service: PlacedService | undefined;
}

/** Finds names of both zones. @param services by their names in lower case */
export function placesOf(services: ReadonlyMap<string, PlacedService>): (name: string) => Place {
  return (name) => {
    const all = name.toLowerCase().split(".");
    const nothing = { left: [], service: undefined };
    if (!/^(?:clusterset|cluster)\.local$/.test(all.slice(-2).join("."))) {
      const kind = /^(?:in-addr|ip6)\.arpa$/.test(all.slice(-2).join(".")) ? "reverse" : "outside";
      return { ...nothing, kind, labels: all };
    }
    const labels = all.slice(0, -2);
    const tree = labels.at(-1);
    if (tree === "pod" && labels.length > 2)
      return { ...nothing, kind: labels.length === 3 ? "pod" : "below pod", labels };
    if (tree !== "svc" || labels.length === 1) return { ...nothing, kind: "zone", labels };
    if (labels.length === 2) return { ...nothing, kind: "namespace", labels };
    const left = labels.slice(0, -3);
    const kind = left.length === 0 ? "service" : "below service";
    return { kind, labels, left, service: services.get(all.slice(-5).join(".")) };
  };
}

export function placesIn({ services }: Fixture): (name: string) => Place {
  return placesOf(
    new Map(
      services.flatMap(({ namespace, name, spec, slices }) => {
        if (spec === "none") return [];
        const isHeadless = spec?.type === "Headless";
        const usable = slices.filter(
          ({ source, addressType }) => source !== undefined && addressType !== "FQDN",
        );
        const ports = isHeadless ? usable.flatMap((one) => one.ports) : (spec?.ports ?? []);
        const service = { isHeadless, ports, ips: spec?.ips ?? [], slices, isEager: false };
        return [[`${name}.${namespace}.svc.${zone}`, service] as const];
      }),
    ),
  );
}
