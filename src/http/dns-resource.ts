import type { StubZones } from "../forward/stub-zones.ts";
import type { DohGateway } from "../gateway/doh-gateway.ts";
import { type AskerSettings, createAskerReader } from "./asker.ts";
import { type AllowedOrigins, preflight } from "./cross-origin.ts";
import { createDnsRoute, LONGEST_MESSAGE } from "./dns-route.ts";
import type { Exchange, HttpRequest, HttpResponse } from "./exchange.ts";
import { createJsonRoute, type JsonRoute } from "./json-route.ts";
import { type LocationSettings, locateAskers } from "./located-asker.ts";
import { createQueryAnswerer, type QueryAnswerer } from "./query-answerer.ts";
import { QueryCounters } from "./query-counters.ts";
import { createRefuse, type Refuse } from "./refusal.ts";

/** What the DNS resources are put together from. */
export interface DnsResourceDependencies {
  readonly gateway: DohGateway;
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** What tells who asks, beside the path. Default: nothing. */
  readonly askers?: AskerSettings;
  /** What the client's location decides where nothing else says who asks. Default: nothing. */
  readonly location?: LocationSettings | undefined;
  /** Queries below its federations go to their name servers. */
  readonly stubs?: StubZones;
  /** Default: every origin. */
  readonly allowedOrigins?: AllowedOrigins;
  /** The longest DNS query that is read, in octets. Default and most: 65,535. */
  readonly longestQuery?: number;
  readonly counters?: QueryCounters;
  /** Told of every error that became a 500. */
  readonly onError?: (error: Error) => void;
}

/** The DNS resource and its JSON form, for askers in general and for the view of one cluster. */
export interface DnsResource {
  /** At `/dns-query`. */
  readonly answerDns: Exchange;
  /** At `/resolve`. */
  readonly resolveJson: Exchange;
  /** At `/clusters/<cluster id>/dns-query` and `…/resolve`. */
  readonly ofCluster: (clusterId: string) => { readonly answerDns: Exchange; readonly resolveJson: Exchange };
  /** What all of them answer queries by. */
  readonly answerQuery: QueryAnswerer;
  readonly counters: QueryCounters;
  readonly refuse: Refuse;
  /** Tells of an error and makes the 500. */
  readonly failed: (request: HttpRequest, error: unknown) => HttpResponse;
}

export function createDnsResource(dependencies: DnsResourceDependencies): DnsResource {
  const { gateway, clock, allowedOrigins = "*", counters = new QueryCounters() } = dependencies;
  const longestQuery = Math.min(dependencies.longestQuery ?? LONGEST_MESSAGE, LONGEST_MESSAGE);
  const refuse = createRefuse(allowedOrigins, counters);
  const reader = createAskerReader(dependencies.askers ?? {});
  const { location } = dependencies;
  const answerQuery = createQueryAnswerer({
    gateway,
    clock,
    counters,
    refuse,
    asker: location === undefined ? reader : locateAskers(reader, location, (id) => gateway.hasCluster(id)),
    stubs: dependencies.stubs,
  });
  const answerJson = createJsonRoute({ gateway, answerQuery, clock, allowedOrigins, refuse });
  const answerDns = createDnsRoute({ answerQuery, allowedOrigins, longestQuery, refuse, answerJson });

  // Google's JSON endpoint answers HEAD with 400 and other methods with 501.
  const resolveJson: JsonRoute = (request, view) => {
    if (request.method === "GET") return answerJson(request, view);
    if (request.method === "OPTIONS") return preflight(request, "GET, OPTIONS", allowedOrigins);
    if (request.method === "HEAD") return refuse(request, 400, "HEAD is not for /resolve: GET");
    return refuse(request, 501, `${request.method} is not implemented for /resolve: GET`);
  };

  const asCluster =
    (route: JsonRoute, clusterId: string): Exchange =>
    (request) =>
      gateway.hasCluster(clusterId)
        ? route(request, clusterId)
        : refuse(
            request,
            404,
            "no cluster of that id has pushed to this gateway; /dns-query answers as seen from outside",
          );

  return {
    answerQuery,
    counters,
    refuse,
    answerDns: (request) => answerDns(request, undefined),
    resolveJson: (request) => resolveJson(request, undefined),
    ofCluster: (clusterId) => ({
      answerDns: asCluster(answerDns, clusterId),
      resolveJson: asCluster(resolveJson, clusterId),
    }),
    failed: (request, error) => {
      dependencies.onError?.(error instanceof Error ? error : new Error(String(error)));
      return refuse(request, 500, "the gateway failed to answer; its log says why");
    },
  };
}
