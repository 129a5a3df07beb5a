import type { Effort } from "../report/report.ts";
import { type WideWorld, wideEndpoints, wideWorld } from "../worlds/wide-world.ts";

const ENDPOINTS = { small: 20_000, full: 1_000_000 };

/** The large world at the edge. */
export function edgeWorld({ isSmall, endpoints }: Effort): WideWorld {
  return wideWorld(endpoints ?? ENDPOINTS[isSmall ? "small" : "full"]);
}

/** Such as `20,000 endpoints of 4 clusters`. */
export function describeWorld(world: WideWorld): string {
  return `${wideEndpoints(world).toLocaleString("en")} endpoints of ${world.clusters} clusters`;
}
