import fc from "fast-check";
import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { arbitrarySnapshot } from "./arbitrary.ts";

/** Something that a cluster does to a gateway, or that happens to the gateway. */
export type Step =
  | { readonly do: "put" | "patch"; readonly to: ClusterSnapshot }
  | { readonly do: "renew"; readonly cluster: string }
  | { readonly do: "leave"; readonly cluster: string }
  | { readonly do: "wait"; readonly seconds: number }
  | { readonly do: "restart" };

/** @param seconds for which a step may wait */
export function arbitraryStep(
  clusters: readonly string[],
  ...seconds: readonly number[]
): fc.Arbitrary<Step> {
  const cluster = fc.constantFrom(...clusters);
  const push = fc.constantFrom("put" as const, "patch" as const);
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: push, to: arbitrarySnapshot(cluster) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("renew" as const), cluster }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("leave" as const), cluster }) },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant("wait" as const), seconds: fc.constantFrom(...seconds) }),
    },
    { weight: 1, arbitrary: fc.constant<Step>({ do: "restart" }) },
  );
}
