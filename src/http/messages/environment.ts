import type { Client } from "../../access/client.ts";
import type { RuleAnswers } from "../doh/rule-answers.ts";
import type { ChangeCounts } from "../push/push-messages.ts";
import type { AuditAction } from "../route-table.ts";
import type { Rejection } from "./errors.ts";

/** The token in a request's URL that admitted it: URLs of this gateway for the same client need it, too. */
interface UrlToken {
  /** The prefix that was removed from the path: `/tokens/<token>`; empty for a token in the host name. */
  readonly prefix: string;
}

/** The environment of the gateway's Hono applications. */
export interface AppEnvironment {
  Bindings: {
    /** Absent if the host knows nothing about clients. */
    readonly client?: Partial<Client> | undefined;
    /** The sources of the client's answers; absent for routes with credentials of their own. */
    readonly answers?: RuleAnswers | undefined;
    readonly urlToken?: UrlToken | undefined;
    /**
     * Why routes with credentials of their own must reject the request; each does so in its own form
     * (`apiRoute`).
     */
    readonly rejection?: Rejection | undefined;
  };
  Variables: {
    /** The facts for the request's line in the audit log. */
    audited?: AuditFacts;
  };
}

/** The facts that a handler adds to its request's line. */
export interface AuditFacts {
  /** The operator's name for the credential, or the name in a client certificate. */
  readonly credential?: string | undefined;
  readonly generation?: number | undefined;
  readonly changes?: ChangeCounts | undefined;
}

/** One line of the audit log (docs/reference/audit-log.md). It must not contain a secret. */
export interface AuditEntry extends AuditFacts {
  readonly action: AuditAction;
  readonly outcome: "accepted" | "refused";
  /** The status of the response. */
  readonly status: number;
  /** The code and message of the error of a rejected request. */
  readonly code?: string | undefined;
  readonly reason?: string | undefined;
  /** The cluster or federation in the request, which may not exist. */
  readonly cluster?: string | undefined;
  readonly federation?: string | undefined;
  /** The client's address; undefined if the host does not know it. */
  readonly client?: string | undefined;
  /** The number of omitted lines of all sources since the last line. */
  readonly leftOut?: number | undefined;
}

/** Writes an entry. */
export type AuditSink = (entry: AuditEntry) => void;
