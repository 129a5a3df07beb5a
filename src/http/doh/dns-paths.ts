import { explainRoute } from "../explain.ts";
import { jsonRoute, type QueryRoute, READING_METHODS, readingRoute } from "../json.ts";
import type { HttpRequest, HttpResponse } from "../messages/message.ts";
import { dnsPaths, type EndpointAt, formOf, type PathPolicies } from "../route-table.ts";
import { createDnsRoute, DNS_METHODS } from "./dns-route.ts";
import type { RuleAnswers, SharedParts } from "./rule-answers.ts";

/** The DNS resource or JSON form of a path. */
export interface DnsPath {
  /** The Allow field. */
  readonly methods: string;
  answer(request: HttpRequest, answers: RuleAnswers): HttpResponse | Promise<HttpResponse>;
}

/** The parts of the paths. */
export interface DnsPathsParts extends Pick<SharedParts, "counters"> {
  /** The answers to names out of zone, by path. */
  readonly policies: PathPolicies;
  /** The longest accepted DNS query in bytes. */
  readonly queryBytes: number;
}

/** The DNS resources with their JSON forms, for clients in general and in the view of one cluster. */
export function createDnsPaths({ policies, queryBytes, counters }: DnsPathsParts, endpointAt: EndpointAt) {
  const forms = {
    "dns-query": {
      methods: DNS_METHODS,
      route: createDnsRoute({ queryBytes, limits: counters.limits }),
    },
    resolve: { methods: READING_METHODS, route: readingRoute(jsonRoute) },
    explain: { methods: READING_METHODS, route: readingRoute(explainRoute) },
  };
  const pathOf = ({ methods, route }: { methods: string; route: QueryRoute }, place: string): DnsPath => {
    const endpoint = endpointAt(place);
    return { methods, answer: (request, answers) => route(request, answers, endpoint) };
  };
  /** By path, without those of clusters. */
  const plain = new Map([
    ...dnsPaths(policies).map((path) => [path, pathOf(forms["dns-query"], path)] as const),
    ["/resolve", pathOf(forms.resolve, "/resolve")],
    ["/explain", pathOf(forms.explain, "/resolve")],
  ]);
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
              "NOT_FOUND",
              "no cluster with this id has pushed to this gateway; /dns-query answers for clients outside the clusters",
            ),
    };
  };
  return {
    plain,
    /** Undefined for other paths. */
    at: (path: string) => plain.get(path) ?? ofCluster(path),
  };
}
