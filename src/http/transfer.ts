import type { Hono } from "hono/tiny";
import type { Authority } from "../access/authority.ts";
import { UNKNOWN_PART } from "../transfer/http-source.ts";
import type { PartKind } from "../transfer/part-forms.ts";
import { Primary, type PrimaryParts, type ScopeTransfer } from "../transfer/primary.ts";
import { NONCE_FIELD, nonceOf, SIGNATURE_FIELD, type TransferKeys } from "../transfer/signature.ts";
import { type ApiContext, createApiRoutes } from "./api-routes.ts";
import { type AuditParts, noteForAudit } from "./audit.ts";
import type { AppEnvironment } from "./messages/environment.ts";
import { ApiError } from "./messages/errors.ts";
import { TRANSFER } from "./route-table.ts";

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

/**
 * The routes by which secondaries follow a primary (docs/reference/transfer.md), to be mounted at
 * `/api/v1/transfer`.
 */
export function createTransferRoutes(dependencies: TransferDependencies): Hono<AppEnvironment> {
  const { authority, key, onError } = dependencies;
  const primary = new Primary(dependencies);
  const immutable = `${authority === undefined ? "public" : "private"}, max-age=31536000, immutable`;

  const identify = async (context: ApiContext) => {
    const shown = [context.req.header("authorization"), context.env?.client] as const;
    const [holder] = (await authority?.identify(...shown)) ?? [];
    noteForAudit(context, { credential: holder?.credential });
  };

  const part = (kind: PartKind) => async (context: ApiContext) => {
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
    if (key !== undefined) headers[SIGNATURE_FIELD] = await key().sign(["part", path], body);
    return new Response(body, { headers });
  };

  // If only the host's own code reaches the routes, there is nothing to audit.
  const parts = authority === undefined ? { onError } : dependencies;
  const handlers = {
    "GET /state": async (context: ApiContext) => {
      const state = scopeOf(primary, context).state();
      const body = new TextEncoder().encode(JSON.stringify(state));
      const headers: Record<string, string> = {
        "cache-control": "no-store",
        "content-type": "application/json",
      };
      const nonce = nonceOf(context.req.header(NONCE_FIELD));
      if (key !== undefined && nonce !== undefined)
        headers[SIGNATURE_FIELD] = await key().sign(["state", nonce, state.scope ?? ""], body);
      return new Response(body, { headers });
    },
    "GET /world": part("world"),
    "GET /changes": part("changes"),
    "GET /key": part("key"),
    "GET /reverse": part("reverse"),
    "GET /names": part("names"),
    "GET /below": part("below"),
    "GET /claims": part("claims"),
    "GET /services": part("services"),
  };
  return createApiRoutes(TRANSFER, parts, handlers, identify);
}

/** @throws {ApiError} for a scope that the primary does not have */
function scopeOf(primary: Primary, context: ApiContext): ScopeTransfer {
  const [key = "", ...more] = context.req.queries("scope") ?? [];
  const scope = more.length > 0 ? undefined : primary.of(key);
  if (scope !== undefined) return scope;
  throw new ApiError(
    "UNKNOWN_SCOPE",
    "the primary does not have this scope: give it the same access as the secondary, and start it again",
  );
}
