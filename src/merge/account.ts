import type { ClustersetService, Conflict } from "./clusterset.ts";
import type { Contribution } from "./declaration.ts";
import type { DeclaredService } from "./service.ts";

/** How a service comes about: what `service` is merged from. */
export interface ServiceAccount {
  /** The parts of clusters in it, in order of cluster id; those that do not count included. */
  readonly parts: readonly Contribution[];
  /** Undefined where no part counts. */
  readonly declared: DeclaredService | undefined;
  /** `byCluster` has `ABSENT_CLUSTER` for all clusters without addresses of their own. */
  readonly service: ClustersetService | undefined;
  /** Clusters whose view is that of clients outside, where that of others is not. */
  readonly likeOutside: readonly string[];
  readonly conflicts: readonly Conflict[];
}

/**
 * Every reason of findings that this version knows, whichever stage finds it (docs/how-to/troubleshoot.md has
 * the fix of each). What clusters push may have others.
 */
export const FINDING_REASONS = [
  "DuplicatePort",
  "ExportNotAllowed",
  "AddressLeftOut",
  "HostNameLeftOut",
  "ImplausibleTimestamp",
  "InvalidAddress",
  "InvalidEndpoint",
  "InvalidExternalName",
  "InvalidField",
  "InvalidHostName",
  "InvalidHostname",
  "InvalidName",
  "InvalidPodAddress",
  "InvalidPort",
  "InvalidPortName",
  "InvalidPortNumber",
  "InvalidProtocol",
  "InvalidServiceType",
  "InvalidSourceCluster",
  "InvalidSpecName",
  "InvalidTimestamp",
  "InvalidTopology",
  "InvalidZone",
  "NameClash",
  "NameTooLong",
  "NoNamespace",
  "NoService",
  "NoServiceName",
  "NoSourceCluster",
  "OtherInstance",
  "OwnerNotExporting",
  "ReverseNameTaken",
  "SourceClusterNotGranted",
  "Terminating",
  "TooMany",
  "UnknownImportType",
  "UnsupportedAddressType",
] as const;
