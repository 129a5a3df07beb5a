import {
  MULTICLUSTER_SERVICE_NAME_LABEL as SERVICE_NAME,
  SOURCE_CLUSTER_LABEL as SOURCE_CLUSTER,
} from "../../extract/identity.ts";
import type { ManagedObject } from "./wanted-object.ts";

export { SERVICE_NAME, SOURCE_CLUSTER };

/** The owner reference to a ServiceImport: when that goes, the garbage collector takes its slices along. */
export function ownerReference({ apiVersion, kind, metadata }: ManagedObject): object {
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid };
}
