import { EXPLAIN_METHODS } from "../explain.ts";
import { type JsonRoute, RESOLVE_METHODS } from "../json/json-route.ts";
import type { HttpRequest, HttpResponse } from "../messages/message.ts";
import { DNS_METHODS, type DnsRoute } from "./dns-route.ts";
import { dnsPaths, type EndpointAt, type PathPolicies } from "./endpoints.ts";
import type { RuleAnswers } from "./rule-answers.ts";

/** The DNS resource or JSON form of a path. */
export interface DnsPath {
  /** The Allow field. */
  readonly methods: string;
  answer(request: HttpRequest, answers: RuleAnswers): HttpResponse | Promise<HttpResponse>;
}

/** The paths of DNS and JSON. */
export interface DnsPaths {
  /** By path, without those of clusters. */
  readonly plain: ReadonlyMap<string, DnsPath>;
  /** Undefined for other paths. */
  at(path: string): DnsPath | undefined;
}

/** The parts of the paths. */
export interface DnsPathsParts {
  readonly endpointAt: EndpointAt;
  readonly policies: PathPolicies;
  readonly answerDns: DnsRoute;
  readonly resolveJson: JsonRoute;
  readonly explainJson: JsonRoute;
}

const OF_CLUSTER = /^\/clusters\/([^/]+)\/(dns-query|resolve|explain)$/;

/** The path patterns of clusters, in Hono's syntax. */
export const CLUSTER_PATHS = ["dns-query", "resolve", "explain"].map(
  (kind) => `/clusters/:clusterId/${kind}`,
);

/** The DNS resources with their JSON forms, for clients in general and in the view of one cluster. */
export function createDnsPaths(parts: DnsPathsParts): DnsPaths {
  const { endpointAt, policies, answerDns, resolveJson, explainJson } = parts;
  const kinds: Readonly<Record<string, { readonly methods: string; readonly route: JsonRoute }>> = {
    "dns-query": { methods: DNS_METHODS, route: answerDns },
    resolve: { methods: RESOLVE_METHODS, route: resolveJson },
    explain: { methods: EXPLAIN_METHODS, route: explainJson },
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
  for (const kind of ["resolve", "explain"]) {
    const { methods, route } = kinds[kind]!;
    plain.set(`/${kind}`, { methods, answer: (request, answers) => route(request, answers, endpoint) });
  }

  const ofCluster = (path: string): DnsPath | undefined => {
    const [, cluster, kind] = OF_CLUSTER.exec(path) ?? [];
    if (cluster === undefined) return undefined;
    const { methods, route } = kinds[kind!]!;
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
