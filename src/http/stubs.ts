import type { Hono } from "hono/tiny";
import * as z from "zod";
import type { CertificateIdentity, Client } from "../access/client.ts";
import { parseNameserver } from "../forward/local.ts";
import { type StubRegistration, type StubZones, TooManyFederations } from "../forward/stub-zones.ts";
import type { LimitCounters } from "../limits/counters.ts";
import { collectIssues } from "../snapshot/parse.ts";
import { type ApiContext, createApiRoutes } from "./api-routes.ts";
import { type AuditParts, certificateName, noteForAudit } from "./audit.ts";
import type { AppEnvironment } from "./messages/environment.ts";
import { ApiError, jsonResponse } from "./messages/errors.ts";
import { readJsonBody } from "./push/bodies.ts";
import { FEDERATIONS, FederationName } from "./route-table.ts";

/** The parts of the routes of stub zones. */
interface StubRoutesDependencies extends AuditParts {
  readonly stubs: StubZones;
  /** Whether a certificate is for pushing, and so for nothing else. Default: no certificate is. */
  readonly isForPushing?: (identity: CertificateIdentity) => boolean;
  /** Whether a certificate is for queries, and so for nothing else. Default: no certificate is. */
  readonly isForQueries?: (identity: CertificateIdentity) => boolean;
  readonly counters?: LimitCounters;
  /** Logs every error that became a 500, and every change. */
  readonly onError?: (error: unknown) => void;
  readonly onChange?: (change: "registered" | "removed", name: string) => void;
}

const MOST_BODY_BYTES = 64 * 1024;

/**
 * `POST`, `GET` and `DELETE` of `/federations/{name}`, and the list at `/federations` (federated service
 * discovery, Initial Setup; docs/how-to/federation.md), for clients with a TLS certificate that the host
 * trusts. Mount them at `/federations`.
 */
export function createStubRoutes(dependencies: StubRoutesDependencies): Hono<AppEnvironment> {
  const { stubs, onChange } = dependencies;

  const admit = (context: ApiContext) => {
    const identity = context.env?.client?.certificateIdentity;
    noteForAudit(context, { credential: identity && certificateName(identity) });
    requireCertificate(context.env?.client ?? {}, dependencies);
  };

  const describe = ({ name, nameservers }: StubRegistration) => ({
    name,
    nameservers,
    zones: stubs.zones.map((zone) => `${name}.svc.${zone}`),
  });

  const handlers = {
    "GET /": () => jsonResponse(200, { federations: stubs.list().map(describe) }),
    "POST /:name": async (context: ApiContext) => {
      const name = readName(context);
      const { nameservers } = read(StubRequest, await readJsonBody(context.req.raw, MOST_BODY_BYTES));
      const isNew = await stubs.register({ name, nameservers }).catch((error) => {
        if (!(error instanceof TooManyFederations)) throw error;
        throw new ApiError(error.code, error.message, { limit: "stub.federations" });
      });
      onChange?.("registered", name);
      return jsonResponse(isNew ? 201 : 200, describe({ name, nameservers }));
    },
    "GET /:name": (context: ApiContext) => {
      const name = readName(context);
      const registration = stubs.get(name);
      if (registration !== undefined) return jsonResponse(200, describe(registration));
      throw new ApiError("UNKNOWN_FEDERATION", `the federation "${name}" is not registered`);
    },
    "DELETE /:name": async (context: ApiContext) => {
      const name = readName(context);
      if (await stubs.remove(name)) onChange?.("removed", name);
      return new Response(null, { status: 204, headers: { "cache-control": "no-store" } });
    },
  };
  return createApiRoutes(FEDERATIONS, dependencies, handlers, admit);
}

/** @throws {ApiError} 403 if the client has no certificate, an untrusted one, or that of a cluster. */
function requireCertificate(
  { certificate, certificateIdentity: identity }: Partial<Client>,
  { isForPushing, isForQueries }: Pick<StubRoutesDependencies, "isForPushing" | "isForQueries">,
): void {
  if (certificate === "refused")
    throw new ApiError(
      "CERTIFICATE_REFUSED",
      "the client certificate is not one of the authority that this gateway trusts (tls.clientCaFile)",
    );
  if (certificate !== "verified")
    throw new ApiError(
      "CERTIFICATE_REQUIRED",
      "only clients with a TLS certificate of the authority in tls.clientCaFile may use federations",
    );
  if (identity === undefined ? (isForPushing ?? isForQueries) : isForPushing?.(identity))
    throw new ApiError(
      "CERTIFICATE_OF_CLUSTER",
      "the client certificate is that of a cluster that pushes (push.credentials), which may not register federations",
    );
  if (identity !== undefined && isForQueries?.(identity))
    throw new ApiError(
      "CERTIFICATE_FOR_QUERIES",
      "the client certificate is for queries only (access.rules), and may not register federations",
    );
}

/** What a request names or has in its body. @throws {ApiError} 422 */
function read<Schema extends z.ZodType>(schema: Schema, value: unknown, ...path: string[]): z.infer<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = collectIssues(parsed.error, path);
  const message = issues.map((issue) => `${issue.path || "the body"}: ${issue.message}`).join("; ");
  throw new ApiError("INVALID_FEDERATION", message, { details: { issues } });
}

/** @throws {ApiError} 422 */
const readName = (context: ApiContext) => read(FederationName, context.req.param("name"), "name");

/** The most name servers of one federation. */
const MOST_NAMESERVERS = 16;

const NameserverText = z
  .string()
  .refine(
    (text) => parseNameserver(text) !== undefined,
    "must be an IP address, IPv4:port, [IPv6]:port, or an https:// URL such as https://dns.example.org/dns-query",
  );

/** Body of `POST /federations/{name}`. */
export const StubRequest = z.strictObject({
  nameservers: z
    .array(NameserverText)
    .min(1, "must have at least one name server")
    .max(MOST_NAMESERVERS, `must have at most ${MOST_NAMESERVERS} name servers`)
    .refine((list) => new Set(list).size === list.length, "must not have the same name server twice"),
});
