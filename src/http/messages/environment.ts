import type { Client } from "../../access/client/client.ts";
import type { AuditFacts } from "../audit/audit-entry.ts";
import type { RuleAnswers } from "../doh/rule-answers.ts";

/** The token in a request's URL that admitted it: URLs of this gateway for the same client need it, too. */
export interface UrlToken {
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
  };
  Variables: {
    /** The facts for the request's line in the audit log. */
    audited?: AuditFacts;
  };
}
