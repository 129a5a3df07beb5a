import { type Context, Hono } from "hono";
import type { Authority } from "../access/authority.ts";
import { SINCE_FIELD, UNKNOWN_PART } from "../transfer/http-source.ts";
import { Primary, type ScopeTransfer, type TransferGateway } from "../transfer/primary.ts";
import { NONCE_FIELD, nonceOf, SIGNATURE_FIELD, type TransferKeys } from "../transfer/signature.ts";
import type { PartKind } from "../transfer/transfer-state.ts";
import { type AuditParts, auditAnswers, noteForAudit } from "./audit/audit.ts";
import type { AuditAction } from "./audit/audit-entry.ts";
import { ApiError, apiRoute, methodNotAllowed } from "./messages/api-error.ts";
import type { AppEnvironment } from "./messages/environment.ts";

/** The parts of the transfer routes. */
export interface TransferDependencies extends AuditParts {
  readonly gateway: TransferGateway;
  /** Checks the tokens of secondaries. Default: no check, for hosts where only their own code reaches the routes. */
  readonly authority?: Authority;
  /** Returns the key that signs responses; called for each. Default: they are not signed. */
  readonly key?: (() => TransferKeys) | undefined;
  /** Unix milliseconds. Default: the host's clock. */
  readonly clock?: () => number;
  /** Called for every error that became a 500. */
  readonly onError?: (error: unknown) => void;
}

type TransferContext = Context<AppEnvironment>;
type Bytes = Uint8Array<ArrayBuffer>;
type Fields = Readonly<Record<string, string>>;

/** The routes by which secondaries take over generations (docs/reference/transfer.md), to be mounted at `/api/v1/transfer`. */
export function createTransferRoutes(dependencies: TransferDependencies): Hono<AppEnvironment> {
  const { gateway, authority, key, clock = Date.now, onError } = dependencies;
  const primary = new Primary(gateway, clock);
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

  /** A part as it is sent: it never changes, so a client with its entity tag has it. */
  const sendPart = (context: TransferContext, etag: string, bytes: Bytes, fields: Fields = {}): Response => {
    const headers = { "cache-control": immutable, etag, ...fields };
    if (isCurrent(context, etag)) return new Response(null, { status: 304, headers });
    return new Response(bytes, {
      headers: {
        ...headers,
        "content-type": "application/octet-stream",
        "content-length": String(bytes.length),
        "x-content-type-options": "nosniff",
      },
    });
  };

  const routes = new Hono<AppEnvironment>();
  routes.get(
    "/state",
    route(async (context) => {
      const state = scopeOf(primary, context).state();
      const etag = `W/"${await digest(JSON.stringify(state.status))}"`;
      const headers = { "cache-control": "no-store", etag };
      if (isCurrent(context, etag)) return new Response(null, { status: 304, headers });
      const body = new TextEncoder().encode(JSON.stringify(state));
      const nonce = nonceOf(context.req.header(NONCE_FIELD));
      const signed = key !== undefined &&
        nonce !== undefined && {
          [SIGNATURE_FIELD]: await key().sign({ kind: "state", nonce, scope: state.scope ?? "" }, body),
        };
      return new Response(body, { headers: { ...headers, ...signed, "content-type": "application/json" } });
    }),
  );
  const part = (kind: PartKind, action: AuditAction) =>
    route(async (context) => {
      const hash = context.req.param("hash") ?? "";
      const asked = context.req.query("since") ?? "";
      const { since, bytes } = scopeOf(primary, context)[kind](hash, asked) ?? gone(kind);
      const signature = kind === "root" ? await key?.().sign({ kind, hash, since }, bytes) : undefined;
      return sendPart(context, since === "" ? `"${hash}"` : `"${hash}-${since}"`, bytes, {
        ...(since !== "" && { [SINCE_FIELD]: since }),
        ...(signature !== undefined && { [SIGNATURE_FIELD]: signature }),
      });
    }, action);
  routes.get("/roots/:hash", part("root", "transfer"));
  // One line in the audit log for each transfer is enough.
  routes.get("/segments/:hash", part("segment", "read"));
  for (const path of ["/state", "/roots/:hash", "/segments/:hash"])
    routes.all(path, route(methodNotAllowed("GET, HEAD")));
  routes.all(
    "*",
    route(({ req }) => {
      throw new ApiError(404, "NOT_FOUND", `the transfer API has no resource at ${req.path}`);
    }),
  );
  return routes;
}

/** @throws {ApiError} for a scope that the primary does not have */
function scopeOf(primary: Primary, context: TransferContext): ScopeTransfer {
  const [key = "", ...more] = context.req.queries("scope") ?? [];
  const scope = more.length > 0 ? undefined : primary.of(key);
  if (scope !== undefined) return scope;
  throw new ApiError(
    404,
    "UNKNOWN_SCOPE",
    "the primary does not have this scope: give it the same access as the secondary, and start it again",
  );
}

/** @throws {ApiError} always: the part is not served */
function gone(kind: PartKind): never {
  throw new ApiError(
    404,
    UNKNOWN_PART[kind],
    `this ${kind} is not served in this scope, or no longer: GET state names the current root`,
  );
}

/** Whether the client has what that entity tag names (RFC 9110 section 13.1.2). */
function isCurrent({ req }: TransferContext, etag: string): boolean {
  const wanted = etag.replace(/^W\//, "");
  return (req.header("if-none-match") ?? "")
    .split(",")
    .some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === wanted);
}

async function digest(text: string): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
