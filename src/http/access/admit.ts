import type { Admission, Admitted, NotAdmitted } from "../../access/asking/admission.ts";
import type { AskingAuthority } from "../../access/asking/asking-authority.ts";
import type { Audience } from "../../access/asking/audience.ts";
import { andThen, type MaybePromise } from "../../access/maybe-promise.ts";
import type { HttpRequest, HttpResponse } from "../exchange.ts";
import type { AccessCounters } from "../metrics/access-counters.ts";
import type { Refuse } from "../refusal.ts";
import type { Site } from "./site.ts";

/** What letting requests in works with. */
export interface AdmitParts<Of extends Site> {
  readonly authority: AskingAuthority<HttpRequest>;
  readonly siteOf: (audience: Audience) => Of;
  readonly counters: AccessCounters;
  readonly refuse: Refuse;
}

/** Sees to what a site needs before it answers; undefined where it can at once. */
export type Prepare<Of> = (site: Of) => Promise<void> | undefined;

/**
 * Finds out who asks, and hands the request to the site of their audience; the others get a refusal.
 * @returns at once where nothing has to be waited for
 */
export type Admit<Of extends Site> = <Result>(
  request: HttpRequest,
  answer: (site: Of, admitted: Admitted) => MaybePromise<Result>,
  refused: (response: HttpResponse) => MaybePromise<Result>,
  prepare?: Prepare<Of>,
) => MaybePromise<Result>;

/** How long somebody is told to wait while the keys of their issuer cannot be had, in seconds. */
const RETRY_AFTER = 30;

export function createAdmit<Of extends Site>(parts: AdmitParts<Of>): Admit<Of> {
  const { authority, siteOf, counters, refuse } = parts;
  return (request, answer, refused, prepare) =>
    andThen(authority.admit(request), (admission: Admission) => {
      if (!("audience" in admission)) {
        counters.refused(admission.outcome);
        return refused(refusal(refuse, request, admission));
      }
      counters.admitted(admission.rule);
      const site = siteOf(admission.audience);
      const ready = prepare?.(site);
      return ready === undefined ? answer(site, admission) : ready.then(() => answer(site, admission));
    });
}

/** The same for everything that is asked: it depends on what rules there are and on what is shown, never on what is asked for. */
function refusal(refuse: Refuse, request: HttpRequest, refused: NotAdmitted): HttpResponse {
  const { status, code, message, challenge } = refused;
  const headers = {
    ...(challenge !== undefined && { "www-authenticate": challenge }),
    ...(status === 503 && { "retry-after": String(RETRY_AFTER) }),
  };
  return refuse(request, status, message, headers, code);
}
