import type { Client } from "../../access/client/client.ts";
import type { AuditFacts } from "../audit/audit-entry.ts";
import type { RuleAnswers } from "../rule-answers.ts";

/** The token in a request's URL that let it in: addresses of this gateway for the same client have to hold it, too. */
export interface UrlToken {
  /** What stands before the path, which the request does not have any more: `/tokens/<token>`; empty for a token in the host name. */
  readonly prefix: string;
}

/** The environment of our Hono applications. */
export interface AppEnvironment {
  Bindings: {
    /** Absent where the host knows nothing of clients. */
    readonly client?: Partial<Client> | undefined;
    /** What the client is answered with; absent for routes with credentials of their own. */
    readonly answers?: RuleAnswers | undefined;
    readonly urlToken?: UrlToken | undefined;
  };
  Variables: {
    /** What the audit log says of the request, as far as its handler knows. */
    audited?: AuditFacts;
  };
}
