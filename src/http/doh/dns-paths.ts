import type { AccessControl } from "../../access/admission.ts";
import type { Admission, Admitted, NotAdmitted } from "../../access/rule.ts";
import { andThen, type MaybePromise, readPathToken } from "../../access/url-tokens.ts";
import type { Background } from "../../transfer/secondary.ts";
import { type JsonRoute, READING_METHODS } from "../json.ts";
import { preflight } from "../messages/fields.ts";
import {
  type Handler,
  type HttpRequest,
  type HttpResponse,
  pathOf,
  plainPath,
  rerouted,
} from "../messages/message.ts";
import { dnsPaths, type EndpointAt, formOf, type PathPolicies } from "../path-table.ts";
import type { RequestGate } from "../request-gate.ts";
import { DNS_METHODS, type DnsRoute } from "./dns-route.ts";
import type { RuleAnswers } from "./rule-answers.ts";

/** The DNS resource or JSON form of a path. */
interface DnsPath {
  /** The Allow field. */
  readonly methods: string;
  answer(request: HttpRequest, answers: RuleAnswers): HttpResponse | Promise<HttpResponse>;
}

/** The paths of DNS and JSON. */
interface DnsPaths {
  /** By path, without those of clusters. */
  readonly plain: ReadonlyMap<string, DnsPath>;
  /** Undefined for other paths. */
  at(path: string): DnsPath | undefined;
}

/** The parts of the paths. */
interface DnsPathsParts {
  readonly endpointAt: EndpointAt;
  readonly policies: PathPolicies;
  readonly answerDns: DnsRoute;
  readonly resolveJson: JsonRoute;
  readonly explainJson: JsonRoute;
}

/** The DNS resources with their JSON forms, for clients in general and in the view of one cluster. */
export function createDnsPaths(parts: DnsPathsParts): DnsPaths {
  const { endpointAt, policies, answerDns, resolveJson, explainJson } = parts;
  const forms = {
    "dns-query": { methods: DNS_METHODS, route: answerDns },
    resolve: { methods: READING_METHODS, route: resolveJson },
    explain: { methods: READING_METHODS, route: explainJson },
  };
  const plain = new Map<string, DnsPath>();
  for (const path of dnsPaths(policies)) {
    const endpoint = endpointAt(path);
    plain.set(path, {
      methods: DNS_METHODS,
      answer: (request, answers) => answerDns(request, answers, endpoint),
    });
  }
  const endpoint = endpointAt("/resolve");
  for (const form of ["resolve", "explain"] as const) {
    const { methods, route } = forms[form];
    plain.set(`/${form}`, { methods, answer: (request, answers) => route(request, answers, endpoint) });
  }

  const ofCluster = (path: string): DnsPath | undefined => {
    const { form, cluster } = formOf(path) ?? {};
    if (form === undefined || cluster === undefined) return undefined;
    const { methods, route } = forms[form];
    return {
      methods,
      answer: (request, answers) =>
        answers.gateway.hasCluster(cluster)
          ? route(request, answers, endpointAt("/clusters", cluster))
          : answers.reject(
              request,
              404,
              "NOT_FOUND",
              "no cluster with this id has pushed to this gateway; /dns-query answers for clients outside the clusters",
            ),
    };
  };
  return { plain, at: (path) => plain.get(path) ?? ofCluster(path) };
}

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
        return answerAdmitted(rerouted(request, url), admission, at, background);
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
      return handler(rerouted(request, url), background);
    };
  };
  return handlerAt;
}
