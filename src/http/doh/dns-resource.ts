import { type ClientAddress, socketAddress } from "../../access/client/client-address.ts";
import { createViewReader, type ViewSettings } from "../../access/view/view.ts";
import {
  type AnswerQuery,
  type AnswerSharing,
  createAnswerQuery,
  type Endpoint,
} from "../../answer/answer-query.ts";
import type { ClientTests } from "../../answer/client-tests.ts";
import { QueryCounters } from "../../answer/query-counters.ts";
import type { Outside, OutsidePolicy } from "../../forward/outside.ts";
import type { StubZones } from "../../forward/stub-zones.ts";
import type { DohGateway } from "../../gateway/doh-gateway.ts";
import { HTTPS } from "../../resolve/transport.ts";
import { type AllowedOrigins, preflight } from "../cross-origin.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../exchange.ts";
import { createJsonRoute, type JsonRoute } from "../json/json-route.ts";
import { createRefuse, NOTHING_HERE, type Refuse } from "../refusal.ts";
import { createDnsRoute, LONGEST_MESSAGE } from "./dns-route.ts";

/** What the DNS resources are put together from. */
export interface DnsResourceDependencies {
  readonly gateway: DohGateway;
  /** Unix milliseconds. */
  readonly clock: () => number;
  /** The cluster whose view everybody has. */
  readonly cluster?: string | undefined;
  /** What decides the view of other queries, beside the path. Default: nothing. */
  readonly views?: ViewSettings;
  /** The client's real address, by which forwarding is limited. Default: the socket's. */
  readonly clientAddress?: ClientAddress;
  /** Queries below its federations go to their name servers. */
  readonly stubs?: StubZones;
  /** Answers names outside the zones. Default: as the gateway does. */
  readonly outside?: Outside;
  /** What such names get, by path. */
  readonly policies?: PathPolicies;
  /** Default: every origin. */
  readonly allowedOrigins?: AllowedOrigins;
  /** The longest DNS query that is read, in octets. Default and most: 65,535. */
  readonly longestQuery?: number;
  /** Told of names that do not exist. */
  readonly clientTests?: ClientTests | undefined;
  readonly counters?: QueryCounters;
  /** Who else gets the same answers. Default: whoever asks the same. */
  readonly sharing?: AnswerSharing | undefined;
  /** Told of every error that became a 500. */
  readonly onError?: (error: Error) => void;
}

/** What names outside the zones get. */
export interface PathPolicies {
  readonly default: OutsidePolicy;
  /**
   * By path: `/dns-query`, `/resolve`, `/clusters` for those of all clusters; every other path is one more DNS resource that answers
   * as `/dns-query` does.
   */
  readonly byPath: ReadonlyMap<string, OutsidePolicy>;
}

/** The methods of `/resolve`. */
export const JSON_METHODS = "GET, OPTIONS";

const BUILT_IN = new Set(["/dns-query", "/resolve", "/clusters"]);

/** Where the plain DNS resources are: at `/dns-query`, and where policies name other paths. */
export function dnsPaths(policies: PathPolicies | undefined): readonly string[] {
  const others = [...(policies?.byPath.keys() ?? [])].filter((path) => !BUILT_IN.has(path));
  return ["/dns-query", ...others];
}

/** The DNS resource and its JSON form, for askers in general and for the view of one cluster. */
export interface DnsResource {
  /** At `/dns-query`. */
  readonly answerDns: Exchange;
  /** At `/resolve`. */
  readonly resolveJson: Exchange;
  /** At `/clusters/<cluster id>/dns-query` and `…/resolve`. */
  readonly ofCluster: (clusterId: string) => { readonly answerDns: Exchange; readonly resolveJson: Exchange };
  /** What all of them answer queries by, and where pages ask. */
  readonly answerQuery: AnswerQuery;
  readonly endpointAt: (path: string, cluster?: string) => Endpoint;
  /** By path: `/dns-query`, and those that the policies name beside the built-in ones. */
  readonly byPath: ReadonlyMap<string, Exchange>;
  readonly counters: QueryCounters;
  readonly refuse: Refuse;
  /** For paths where there is nothing. */
  readonly notFound: Exchange;
  /** Tells of an error and makes the 500. */
  readonly failed: (request: HttpRequest, error: unknown) => HttpResponse;
}

export function createDnsResource(dependencies: DnsResourceDependencies): DnsResource {
  const { gateway, clock, allowedOrigins = "*", counters = new QueryCounters() } = dependencies;
  const longestQuery = Math.min(dependencies.longestQuery ?? LONGEST_MESSAGE, LONGEST_MESSAGE);
  const refuse = createRefuse(allowedOrigins, counters);
  const { default: usual, byPath } = dependencies.policies ?? { default: "refuse", byPath: new Map() };
  const answerQuery = createAnswerQuery({
    ...{ gateway, clock, counters },
    cluster: dependencies.cluster,
    views: createViewReader(dependencies.views ?? {}, (id) => gateway.hasCluster(id)),
    sharing: dependencies.sharing,
    stubs: dependencies.stubs,
    outside: dependencies.outside,
    clientAddress: dependencies.clientAddress ?? socketAddress,
    clientTests: dependencies.clientTests,
  });
  const answerJson = createJsonRoute({ gateway, answerQuery, clock, allowedOrigins, refuse });
  const answerDns = createDnsRoute({
    ...{ answerQuery, allowedOrigins, longestQuery, refuse, answerJson },
    limits: counters.limits,
  });
  // Google's JSON endpoint answers HEAD with 400 and other methods with 501.
  const resolveJson: JsonRoute = (request, endpoint) => {
    if (request.method === "GET") return answerJson(request, endpoint);
    if (request.method === "OPTIONS") return preflight(request, JSON_METHODS, allowedOrigins);
    if (request.method === "HEAD") return refuse(request, 400, "HEAD is not for /resolve: GET");
    return refuse(request, 501, `${request.method} is not implemented for /resolve: GET`);
  };
  const endpointAt = (path: string, cluster?: string): Endpoint => ({
    transport: HTTPS,
    cluster,
    outsideZones: byPath.get(path) ?? usual,
  });
  const dnsAt = (path: string): Exchange => {
    const endpoint = endpointAt(path);
    return (request) => answerDns(request, endpoint);
  };
  const endpointOfJson = endpointAt("/resolve");
  const asCluster =
    (route: JsonRoute, clusterId: string): Exchange =>
    (request) =>
      gateway.hasCluster(clusterId)
        ? route(request, endpointAt("/clusters", clusterId))
        : refuse(
            request,
            404,
            "no cluster with this id has pushed to this gateway; /dns-query answers for clients outside the clusters",
          );

  return {
    answerQuery,
    endpointAt,
    counters,
    refuse,
    notFound: (request) => refuse(request, 404, NOTHING_HERE),
    answerDns: dnsAt("/dns-query"),
    byPath: new Map(dnsPaths(dependencies.policies).map((path) => [path, dnsAt(path)])),
    resolveJson: (request) => resolveJson(request, endpointOfJson),
    ofCluster: (clusterId) => ({
      answerDns: asCluster(answerDns, clusterId),
      resolveJson: asCluster(resolveJson, clusterId),
    }),
    failed: (request, error) => {
      dependencies.onError?.(error instanceof Error ? error : new Error(String(error)));
      return refuse(request, 500, "the gateway failed to answer; its log has the reason");
    },
  };
}
