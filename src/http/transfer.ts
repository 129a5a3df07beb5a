import type { Context } from "hono";
import { Hono } from "hono/tiny";
import type { Authority } from "../access/authority.ts";
import { UNKNOWN_PART } from "../transfer/http-source.ts";
import { PART_KINDS } from "../transfer/part-forms.ts";
import { Primary, type PrimaryParts, type ScopeTransfer } from "../transfer/primary.ts";
import { NONCE_FIELD, nonceOf, SIGNATURE_FIELD, type TransferKeys } from "../transfer/signature.ts";
import { type AuditParts, auditAnswers, noteForAudit } from "./audit.ts";
import type { AppEnvironment, AuditAction } from "./messages/environment.ts";
import { ApiError, apiRoute, methodNotAllowed, noResource } from "./messages/errors.ts";

/** The parts of the transfer routes. */
export interface TransferDependencies extends AuditParts, PrimaryParts {
  /**
   * Checks the tokens of secondaries. Default: no check, for hosts where only their own code reaches the
   * routes.
   */
  readonly authority?: Authority;
  /** Returns the key that signs responses; called for each. Default: they are not signed. */
  readonly key?: (() => TransferKeys) | undefined;
  /** Called for every error that became a 500. */
  readonly onError?: (error: unknown) => void;
}

type TransferContext = Context<AppEnvironment>;

/**
 * The routes by which secondaries follow a primary (docs/reference/transfer.md), to be mounted at
 * `/api/v1/transfer`.
 */
export function createTransferRoutes(dependencies: TransferDependencies): Hono<AppEnvironment> {
  const { authority, key, onError } = dependencies;
  const primary = new Primary(dependencies);
  const immutable = `${authority === undefined ? "public" : "private"}, max-age=31536000, immutable`;

  /** If only the host's own code reaches the routes, there is nothing to audit. */
  const audited = authority === undefined ? {} : dependencies;
  const route = (
    handle: (context: TransferContext) => Response | Promise<Response>,
    action: AuditAction = "read",
  ) =>
    apiRoute(
      { onError },
      async (context: TransferContext) => {
        const shown = [context.req.header("authorization"), context.env?.client] as const;
        const [holder] = (await authority?.identify(...shown)) ?? [];
        noteForAudit(context, { credential: holder?.credential });
        return handle(context);
      },
      auditAnswers(audited, action),
    );

  const routes = new Hono<AppEnvironment>();
  routes.get(
    "/state",
    route(async (context) => {
      const state = scopeOf(primary, context).state();
      const body = new TextEncoder().encode(JSON.stringify(state));
      const headers: Record<string, string> = {
        "cache-control": "no-store",
        "content-type": "application/json",
      };
      const nonce = nonceOf(context.req.header(NONCE_FIELD));
      if (key !== undefined && nonce !== undefined)
        headers[SIGNATURE_FIELD] = await key().sign({ kind: "state", nonce, scope: state.scope ?? "" }, body);
      return new Response(body, { headers });
    }),
  );
  for (const kind of PART_KINDS)
    routes.get(
      `/${kind}`,
      // One line in the audit log for each change of clusters is enough.
      route(
        async (context) => {
          const { req } = context;
          const body = await scopeOf(primary, context).part(kind, (name) => req.query(name) ?? "");
          if (body === undefined)
            throw new ApiError(
              UNKNOWN_PART,
              "the primary does not have this part, or no longer: GET state names its log",
            );
          const headers: Record<string, string> = {
            "cache-control": immutable,
            "content-type": "application/octet-stream",
            "content-length": String(body.length),
            "x-content-type-options": "nosniff",
          };
          const path = `${kind}${new URL(req.url).search}`;
          if (key !== undefined) headers[SIGNATURE_FIELD] = await key().sign({ kind: "part", path }, body);
          return new Response(body, { headers });
        },
        kind === "world" ? "transfer" : "read",
      ),
    );
  for (const path of ["state", ...PART_KINDS]) routes.all(`/${path}`, route(methodNotAllowed("GET, HEAD")));
  routes.all("*", route(noResource("transfer")));
  return routes;
}

/** @throws {ApiError} for a scope that the primary does not have */
function scopeOf(primary: Primary, context: TransferContext): ScopeTransfer {
  const [key = "", ...more] = context.req.queries("scope") ?? [];
  const scope = more.length > 0 ? undefined : primary.of(key);
  if (scope !== undefined) return scope;
  throw new ApiError(
    "UNKNOWN_SCOPE",
    "the primary does not have this scope: give it the same access as the secondary, and start it again",
  );
}
