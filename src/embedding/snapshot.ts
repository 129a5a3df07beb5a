/**
 * `clusterset-doh/snapshot`: what a sync worker reports of its cluster, as a zod schema, and as the body of a
 * push.
 */
import { encodeChanges, encodeSnapshot } from "../snapshot/lines/encode.ts";

export type { SnapshotPatch } from "../snapshot/lines/patch-line.ts";
export { parseSnapshot, SnapshotError, type SnapshotIssue } from "../snapshot/parse.ts";
export {
  ClusterSnapshot,
  ClusterZone,
  Endpoint,
  EndpointGroup,
  EndpointGroups,
  EndpointPort,
  ExportedService,
  Finding,
  ImportedService,
  LocalService,
  ServicePort,
  SNAPSHOT_FORMAT_VERSION,
} from "../snapshot/schema.ts";
export { encodeChanges, encodeSnapshot };
