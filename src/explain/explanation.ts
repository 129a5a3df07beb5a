import type { ClusterFinding, Conflict } from "../merge/clusterset.ts";

/** What an answer is, in one word. Stable. */
export type ExplanationCode =
  /** Records of the type exist. */
  | "ANSWERED"
  /** The name has records, but none of the type. */
  | "NO_RECORDS_OF_TYPE"
  /** The name of a port has SRV records only. */
  | "PORT_HAS_SRV_ONLY"
  /** The name has no records; names below it may. */
  | "NO_RECORDS"
  /** No cluster reports an address of the service that this view may use. */
  | "NO_ADDRESS"
  /** A headless service without a ready endpoint has no names. */
  | "NO_READY_ENDPOINT"
  /** No live cluster has the namespace. */
  | "NO_NAMESPACE"
  /** The cluster of the view does not have the namespace. */
  | "NAMESPACE_NOT_IN_VIEW"
  /** No cluster exports or imports the service. */
  | "NOT_EXPORTED"
  /** A cluster reports the service, but it is not served; findings have the reason. */
  | "LEFT_OUT"
  /** The service exists, but not the port or the endpoint. */
  | "NO_SUCH_PORT"
  | "NO_SUCH_ENDPOINT"
  /** The name is in a zone, but has no form that a service's name has, or this host cannot tell more. */
  | "NO_SUCH_NAME"
  | "OUT_OF_ZONE"
  /** Another name server answered. */
  | "FORWARDED"
  /** Nothing can be denied: no cluster has pushed, or every lease has expired. */
  | "NOT_READY";

/** A record of the answer section. */
export interface ExplainedRecord {
  readonly name: string;
  readonly type: number;
  /** In the form of zone files. */
  readonly data: string;
  /** The clusters that report it. */
  readonly from: readonly string[];
}

/** A cluster whose lease the answer depends on. */
export interface ExplainedLease {
  readonly clusterId: string;
  /** Unix milliseconds by the gateway's clock; undefined for a cluster that is not live. */
  readonly expiresAt: number | undefined;
}

/** A property of a service, and whose value is used. */
export interface ExplainedProperty {
  readonly property: string;
  readonly value: string;
  /** A cluster id; undefined for a setting of the gateway. */
  readonly decidedBy: string | undefined;
  readonly because: string;
  /** Values that were set aside. */
  readonly otherwise: readonly { readonly clusterId: string; readonly value: string }[];
}

/** A cluster that exports a service. */
export interface ExplainedExporter {
  readonly clusterId: string;
  /** The creation time that the cluster states. */
  readonly stated: string;
  /** How many endpoints of it may be answered with: those that are ready, or published although they are not. */
  readonly endpoints: number;
  /** From when its export counts (RFC 3339, in whole seconds), where that is not what it states. */
  readonly countsFrom?: string | undefined;
  readonly because?: string | undefined;
}

/** A service and how it comes about. */
export interface ExplainedService {
  readonly namespace: string;
  readonly name: string;
  readonly type: "ClusterSetIP" | "Headless";
  /** In order of precedence. */
  readonly exporters: readonly ExplainedExporter[];
  readonly importers: readonly string[];
  readonly properties: readonly ExplainedProperty[];
  /** Where its addresses in this view come from, as a sentence. */
  readonly addresses: string;
}

/** A name that may have been meant. */
export interface Suggestion {
  readonly name: string;
  readonly because: string;
}

/** Why a question has the answer that it has. */
export interface Explanation {
  readonly code: ExplanationCode;
  readonly message: string;
  /** Absent where the name is not a service's, and on hosts that hold no merged services. */
  readonly service?: ExplainedService | undefined;
  readonly records: readonly ExplainedRecord[];
  readonly leases: readonly ExplainedLease[];
  readonly conflicts: readonly Conflict[];
  readonly findings: readonly ClusterFinding[];
  readonly suggestions: readonly Suggestion[];
  /** What this host cannot tell, as sentences. */
  readonly omitted: readonly string[];
}
