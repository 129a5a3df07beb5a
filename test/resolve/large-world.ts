import type { ClusterSnapshot, LocalService } from "../../src/snapshot/schema.ts";
import { alias, local } from "../conformance/cases/cluster-local.ts";
import { endpoints, exported, port, snapshot } from "../merge/fixtures.ts";

const LABEL = "x".repeat(60);
/** A CNAME chain with long names that ends at `chained`, and another one whose target does not exist. */
export const CHAIN_LENGTH = 5;
export const chainName = (index: number, kind: "found" | "lost") =>
  `${LABEL}.${LABEL}.${kind}-${index}.default.svc.cluster.local`;

/** The sizes of the headless services `shop/sized-<size>`. */
export const SIZES = [1, 2, 14, 27, 28, 29, 58, 59, 73, 74, 83, 84, 400, 3000] as const;

/** One cluster with answers of every size: many addresses, many SRV records, long CNAME chains. */
export function largeWorld(): ClusterSnapshot[] {
  const members = (size: number) =>
    Array.from({ length: size }, (_, index) => ({ address: `10.3.${index >> 8}.${index & 255}` }));
  const exports = Object.fromEntries(
    SIZES.map((size) => [
      `shop/sized-${size}`,
      exported({ headless: true, endpoints: endpoints(...members(size), { address: "fd00::1" }) }),
    ]),
  );
  const services: Record<string, LocalService> = {
    "default/chained": local({
      clusterIPs: ["10.3.0.1", "fd00:3::1"],
      ports: [port("https", 443)],
    }),
  };
  for (const kind of ["found", "lost"] as const)
    for (let index = 0; index < CHAIN_LENGTH; index++) {
      const end = `${kind === "found" ? "chained" : `${LABEL}.nothing`}.default.svc.cluster.local`;
      services[`default/${kind}-${index}`] = alias(
        index === CHAIN_LENGTH - 1 ? end : chainName(index + 1, kind),
        {
          ownedName: `${LABEL}.${LABEL}.${kind}-${index}`,
        },
      );
    }
  return [
    snapshot("east", {
      namespaces: { shop: {}, default: {} },
      clusterZone: { name: "cluster.local", pods: "insecure" },
      exports,
      services,
    }),
  ];
}
