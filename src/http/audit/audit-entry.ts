import type { SnapshotChanges } from "../../snapshot/changes.ts";

/** What somebody tried to do. */
export type AuditAction =
  | "push"
  | "patch"
  | "renew"
  | "leave"
  | "read"
  | "register"
  | "unregister"
  | "transfer"
  /** Sent to the primary, which has a line of its own. */
  | "forward";

/** What a handler says of its request beside the outcome. */
export interface AuditFacts {
  /** What the operator calls the credential, or the name in a client certificate. */
  readonly credential?: string | undefined;
  /** As the request has it; nothing says that there is such a cluster. */
  readonly cluster?: string | undefined;
  readonly federation?: string | undefined;
  readonly generation?: number | undefined;
  readonly changes?: SnapshotChanges | undefined;
}

/** One line of the audit log (docs/reference/audit-log.md). No secret may be in it. */
export interface AuditEntry extends AuditFacts {
  readonly action: AuditAction;
  readonly outcome: "accepted" | "refused";
  /** The status of the response. */
  readonly status: number;
  /** The code and message of the error, of a request that was refused. */
  readonly code?: string | undefined;
  readonly reason?: string | undefined;
  /** The client's address; undefined where the host knows none. */
  readonly client?: string | undefined;
  /** Lines that were left out since the last one, of any source. */
  readonly leftOut?: number | undefined;
}

/** Takes an entry that is to be written. */
export type AuditSink = (entry: AuditEntry) => void;
