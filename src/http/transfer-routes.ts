import { type Context, Hono } from "hono";
import type { Authority } from "../access/authority.ts";
import { Primary, type TransferGateway } from "../transfer/primary.ts";
import { NONCE_FIELD, nonceOf, SIGNATURE_FIELD, type TransferKeys } from "../transfer/signature.ts";
import type { TransferState } from "../transfer/transfer-state.ts";
import { type AuditParts, auditAnswers, noteForAudit } from "./audit/audit.ts";
import type { AuditAction } from "./audit/audit-entry.ts";
import { ApiError, apiRoute, methodNotAllowed } from "./exchange/api-error.ts";
import type { AppEnvironment } from "./exchange/environment.ts";

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

/** The routes that transfer images to secondaries (docs/reference/transfer.md). Mount them at `/api/v1/transfer`. */
export function createTransferRoutes(dependencies: TransferDependencies): Hono<AppEnvironment> {
  const { gateway, authority, key, clock = Date.now, onError } = dependencies;
  const imageSignatures = new ImageSignatures();
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

  const routes = new Hono<AppEnvironment>();
  routes.get(
    "/state",
    route(async (context) => {
      const state = stateAsked(primary, context.req.queries("scope"));
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
  routes.get(
    "/images/:contentHash",
    route(async (context) => {
      const contentHash = context.req.param("contentHash") ?? "";
      const bytes = primary.image(contentHash);
      if (bytes === undefined)
        throw new ApiError(
          404,
          "UNKNOWN_IMAGE",
          "this image is not served, or no longer: GET state names the current one",
        );
      const etag = `"${contentHash}"`;
      const headers = { "cache-control": immutable, etag };
      if (isCurrent(context, etag)) return new Response(null, { status: 304, headers });
      return new Response(bytes, {
        headers: {
          ...headers,
          ...(key !== undefined && {
            [SIGNATURE_FIELD]: await imageSignatures.of(contentHash, bytes, key()),
          }),
          "content-type": "application/octet-stream",
          "content-length": String(bytes.length),
          "x-content-type-options": "nosniff",
        },
      });
    }, "transfer"),
  );
  routes.all("/state", route(methodNotAllowed("GET, HEAD")));
  routes.all("/images/:contentHash", route(methodNotAllowed("GET, HEAD")));
  routes.all(
    "*",
    route(({ req }) => {
      throw new ApiError(404, "NOT_FOUND", `the transfer API has no resource at ${req.path}`);
    }),
  );
  return routes;
}

/** The signatures of images, which many secondaries fetch at the same time. */
class ImageSignatures {
  readonly #known = new WeakMap<
    object,
    { readonly keys: TransferKeys; readonly signature: Promise<string> }
  >();

  of(contentHash: string, bytes: Uint8Array<ArrayBuffer>, keys: TransferKeys): Promise<string> {
    const known = this.#known.get(bytes);
    if (known?.keys === keys) return known.signature;
    const signature = keys.sign({ kind: "image", contentHash }, bytes);
    this.#known.set(bytes, { keys, signature });
    return signature;
  }
}

/** @throws {ApiError} for a visibility that the primary does not have */
function stateAsked(primary: Primary, scopes: readonly string[] = []): TransferState {
  const [scope, ...more] = scopes;
  if (scope === undefined || scopes.join("") === "") return primary.state();
  const state = more.length > 0 ? undefined : primary.stateWithin(scope);
  if (state !== undefined) return state;
  throw new ApiError(
    404,
    "UNKNOWN_SCOPE",
    "the primary does not have this scope: give it the same access as the secondary, and start it again",
  );
}

/** Whether the client already has the representation with that entity tag (RFC 9110 section 13.1.2). */
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
