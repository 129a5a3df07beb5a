import type { Client } from "../access/client/client.ts";

/** The token in a request's URL that let it in: addresses of this gateway for the same client have to hold it, too. */
export interface UrlToken {
  /** What stands before the path, which the request does not have any more: `/tokens/<token>`; empty for a token in the host name. */
  readonly prefix: string;
}

/** The environment of our Hono applications. A host that knows nothing of clients hands on none, as does `app.fetch(request)`. */
export interface ConnectionEnvironment {
  Bindings: Partial<Client> & { readonly urlToken?: UrlToken | undefined };
}
