import type { DesiredImport, DesiredLine, DesiredSlice } from "../../../src/snapshot/desired-line.ts";
import { DesiredState } from "../../../src/worker/control/desired.ts";

export const START = { start: "snapshot", formatVersion: 1 } as const satisfies DesiredLine;

/** A ClusterSetIP import of cluster a, with one port. */
export function desiredImport(more: Partial<DesiredImport> = {}): DesiredImport {
  return {
    type: "ClusterSetIP",
    ports: [{ name: "pg", protocol: "TCP", port: 5432 }],
    ipFamilies: ["IPv4"],
    labels: {},
    annotations: {},
    clusters: ["a"],
    ...more,
  };
}

/** A slice with one ready endpoint. */
export function desiredSlice(address = "10.1.0.1", more: Partial<DesiredSlice> = {}): DesiredSlice {
  return {
    addressType: address.includes(":") ? "IPv6" : "IPv4",
    ports: [{ name: "pg", protocol: "TCP", port: 5432 }],
    endpoints: [{ address }],
    ...more,
  };
}

/** The lines of one service of cluster a, `shop/db`. */
export function linesOf(
  wanted: DesiredImport | null = desiredImport(),
  slices: Readonly<Record<string, DesiredSlice>> = { "v4-0": desiredSlice() },
  cluster = "a",
): DesiredLine[] {
  return [
    { import: "shop/db", desired: wanted },
    ...Object.entries(slices).map(([slice, desired]) => ({ service: "shop/db", cluster, slice, desired })),
  ];
}

/** A line as a state takes it. */
type TakenLine = Parameters<DesiredState["take"]>[0];

/** A state that took a snapshot with these lines, while these leases held. */
export function stateWith(
  lines: readonly TakenLine[],
  {
    leases = { a: 60, b: 60 },
    clock = () => 0,
    grace = 0,
  }: { leases?: Record<string, number>; clock?: () => number; grace?: number } = {},
): DesiredState {
  const state = new DesiredState(clock, grace);
  take(state, lines, leases);
  return state;
}

/** Lets a state take another snapshot. */
export function take(
  state: DesiredState,
  lines: readonly TakenLine[],
  leases: Record<string, number> = { a: 60, b: 60 },
): void {
  state.begin();
  for (const line of [START, { leases }, ...lines, { position: "p" }] as TakenLine[]) state.take(line);
}
