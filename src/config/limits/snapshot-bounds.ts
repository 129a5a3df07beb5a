import * as z from "zod";
import { DEFAULT_SNAPSHOT_BOUNDS } from "../../gateway/pushing/limits.ts";

const count = (most: number) => z.int().min(1).max(most);
const DEFAULTS = DEFAULT_SNAPSHOT_BOUNDS;

/** The keys of `limits` for the contents of one cluster's snapshot. */
export const snapshotBounds = {
  namespaces: count(60_000).default(DEFAULTS.namespaces),
  exports: count(1_000_000).default(DEFAULTS.exports),
  imports: count(1_000_000).default(DEFAULTS.imports),
  /** Services of the cluster's own zone, and pods with names in it. */
  services: count(1_000_000).default(DEFAULTS.services),
  pods: count(10_000_000).default(DEFAULTS.pods),
  /** Endpoints of exports, imports and services together. */
  endpoints: count(10_000_000).default(DEFAULTS.endpoints),
  /** Ports of services, and of each endpoint, together. */
  ports: count(100_000_000).default(DEFAULTS.ports),
  findings: count(1_000_000).default(DEFAULTS.findings),
  /** Exported labels and annotations together. */
  metadataCharacters: count(2 ** 29).default(DEFAULTS.metadataCharacters),
};
