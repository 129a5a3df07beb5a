import { andThen, type MaybePromise } from "../../access/maybe-promise.ts";
import type { Admission, Admitted, NotAdmitted } from "../../access/rules/admission.ts";
import type { AccessControl } from "../../access/rules/admit.ts";
import { readPathToken } from "../../access/rules/path-token.ts";
import type { Background } from "../../transfer/secondary.ts";
import { preflight } from "../messages/fields.ts";
import type { Handler, HttpRequest, HttpResponse } from "../messages/message.ts";
import { pathOf, plainPath, ReroutedRequest } from "../messages/message.ts";
import type { RequestGate } from "../request-gate.ts";
import type { DnsPath, DnsPaths } from "./dns-paths.ts";
import type { RuleAnswers } from "./rule-answers.ts";

/** The parts of admission in front of DNS and JSON. */
interface AdmittedPathsParts {
  readonly dns: DnsPaths;
  readonly access: AccessControl;
  readonly gate: RequestGate | undefined;
  /** The origins that may read the answer to a preflight. */
  readonly origins: Parameters<typeof preflight>[2];
  readonly notAdmitted: (request: HttpRequest, rejection: NotAdmitted) => HttpResponse;
  readonly answersFor: (admitted: Admitted) => RuleAnswers;
  readonly notFound: (request: HttpRequest, answers?: RuleAnswers) => HttpResponse;
}

/** Finds the handler of DNS or JSON at a path, with the limits and the admission in front; undefined for other paths. */
export function createAdmittedPaths(parts: AdmittedPathsParts): (path: string) => Handler | undefined {
  const { dns, access, gate, origins, notAdmitted, answersFor, notFound } = parts;

  const answerAdmitted = (
    request: HttpRequest,
    admission: Admission,
    at: DnsPath,
    background: Background | undefined,
  ): MaybePromise<HttpResponse> => {
    if (admission.rule === undefined) return notAdmitted(request, admission);
    const answers = answersFor(admission);
    const ready = answers.prepare?.(background);
    return ready === undefined ? at.answer(request, answers) : ready.then(() => at.answer(request, answers));
  };

  /** A preflight has no credentials (Fetch standard, section 4.8), and its answer reveals nothing. */
  const handlerOf =
    (at: DnsPath): Handler =>
    (request, background) => {
      const rejected = gate?.(request);
      if (rejected !== undefined) return rejected;
      if (request.method === "OPTIONS") return preflight(request, at.methods, origins);
      const admission = access.admit(request);
      return admission instanceof Promise
        ? admission.then((late) => answerAdmitted(request, late, at, background))
        : answerAdmitted(request, admission, at, background);
    };

  /** A path after a token; if the token is unknown, it is a path like any other. */
  const answerByToken: Handler = (request, background) =>
    gate?.(request) ??
    andThen(access.admit(request), (admission) => {
      const url = admission.rule === undefined ? undefined : admission.path?.url;
      const at = url === undefined ? undefined : dns.at(pathOf(url));
      if (url !== undefined && at !== undefined)
        return answerAdmitted(new ReroutedRequest(request, url), admission, at, background);
      return answerAdmitted(request, admission, { methods: "", answer: notFound }, background);
    });

  const plain = new Map([...dns.plain].map(([path, at]) => [path, handlerOf(at)]));
  const handlerAt = (path: string): Handler | undefined => {
    const known = plain.get(path);
    if (known !== undefined) return known;
    if (path.includes("%")) return handlerAtPlain(path);
    const at = dns.at(path);
    if (at !== undefined) return handlerOf(at);
    const token = readPathToken(path);
    return token !== undefined && dns.at(token.url) !== undefined ? answerByToken : undefined;
  };

  const handlerAtPlain = (path: string): Handler | undefined => {
    const decoded = plainPath(path);
    const handler = decoded.includes("%") ? undefined : handlerAt(decoded);
    if (handler === undefined) return undefined;
    return (request, background) => {
      const url = request.url.replace(path, () => decoded);
      return handler(new ReroutedRequest(request, url), background);
    };
  };
  return handlerAt;
}
