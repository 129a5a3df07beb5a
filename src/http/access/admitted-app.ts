import type { Hono } from "hono";
import type { Admitted } from "../../access/asking/admission.ts";
import type { AskingAuthority } from "../../access/asking/asking-authority.ts";
import type { Audience, Audiences } from "../../access/asking/audience.ts";
import type { Client } from "../../access/client/client.ts";
import { andThen, type MaybePromise } from "../../access/maybe-promise.ts";
import type { ConnectionEnvironment } from "../environment.ts";
import type { HttpRequest, HttpResponse } from "../exchange.ts";
import { FetchRequest, toResponse } from "../fetch-exchange.ts";
import type { Admit, Prepare } from "./admit.ts";
import { type AdmittedResource, pathOf } from "./admitted-resource.ts";
import { type Site, seesEverything } from "./site.ts";
import { TokenConnection } from "./token-connection.ts";

/** What an application for a few is put together from. */
export interface AdmittedAppParts<Of extends Site> {
  readonly admit: Admit<Of>;
  readonly authority: AskingAuthority<HttpRequest>;
  readonly audiences: Audiences;
  readonly siteOf: (audience: Audience) => Of;
  readonly resource: AdmittedResource<Of>;
  /** What asks for credentials of its own, or tells nothing: the push API, transfer, federations, health. */
  readonly open: Pick<Hono<ConnectionEnvironment>, "fetch">;
  readonly failed: (request: HttpRequest, error: unknown) => HttpResponse;
}

/** The application in front of those of all audiences. */
export interface AdmittedApp<Of extends Site> {
  fetch(request: Request, client?: Partial<Client>, prepare?: Prepare<Of>): Response | Promise<Response>;
}

/** All else is for those who are let in. */
const OPEN = /^\/(?:api\/|federations(?:\/|$)|healthz$)/;

/**
 * Finds out who asks before anything is answered, and hands the request to their audience's own application. `/readyz` is
 * everybody's: it counts clusters and services for those for whom everything exists.
 */
export function createAdmittedApp<Of extends Site>(parts: AdmittedAppParts<Of>): AdmittedApp<Of> {
  const { admit, authority, audiences, siteOf, resource, open, failed } = parts;
  const [first] = audiences.all;

  const enter = (
    { app }: Of,
    { path, isByHost }: Admitted,
    request: Request,
    client: Partial<Client>,
  ): MaybePromise<Response> => {
    if (path === undefined && isByHost !== true) return app.fetch(request, client);
    const { method, headers } = request;
    const prefix = path?.prefix ?? "";
    // What takes a body is an exchange, or asks for credentials of its own.
    const asked = path === undefined ? request : new Request(path.url, { method, headers });
    return app.fetch(asked, new TokenConnection(client, { prefix }));
  };

  const tellReadiness = (
    asked: FetchRequest,
    request: Request,
    client: Partial<Client>,
    prepare: Prepare<Of> | undefined,
  ): MaybePromise<Response> =>
    andThen(authority.admit(asked), (admission) => {
      const isDetailed = "audience" in admission && seesEverything(admission.audience);
      const audience = isDetailed ? admission.audience : first;
      const ready = audience && prepare?.(siteOf(audience));
      return andThen(ready ?? undefined, () =>
        isDetailed
          ? enter(siteOf(admission.audience), admission, request, client)
          : open.fetch(request, client),
      );
    });

  const answer = (
    asked: FetchRequest,
    request: Request,
    client: Partial<Client>,
    prepare: Prepare<Of> | undefined,
  ): MaybePromise<Response> => {
    const path = pathOf(asked.url);
    if (OPEN.test(path)) return open.fetch(request, client);
    if (path === "/readyz") return tellReadiness(asked, request, client, prepare);
    const exchange = resource.exchangeAt(path, prepare);
    if (exchange !== undefined) return andThen(exchange(asked), toResponse);
    return admit(asked, (site, admitted) => enter(site, admitted, request, client), toResponse, prepare);
  };

  return {
    fetch(request, client = {}, prepare) {
      const asked = new FetchRequest(request, client);
      const fail = (error: unknown) => toResponse(failed(asked, error));
      try {
        const answered = answer(asked, request, client, prepare);
        return answered instanceof Promise ? answered.catch(fail) : answered;
      } catch (error) {
        return fail(error);
      }
    },
  };
}
