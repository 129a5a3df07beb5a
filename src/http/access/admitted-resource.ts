import { readPathToken } from "../../access/asking/path-token.ts";
import type { Client } from "../../access/client/client.ts";
import { type AllowedOrigins, preflight } from "../cross-origin.ts";
import { type DnsResource, JSON_METHODS } from "../doh/dns-resource.ts";
import { DNS_METHODS } from "../doh/dns-route.ts";
import type { Exchange, HttpRequest } from "../exchange.ts";
import type { Admit, Prepare } from "./admit.ts";
import type { Site } from "./site.ts";

/** The DNS resources of all audiences behind the question who asks. */
export interface AdmittedResource<Of extends Site> {
  /** What answers at a path, with or without a token before it; undefined for paths of something else. */
  exchangeAt(path: string, prepare?: Prepare<Of>): Exchange | undefined;
  /** Where the plain DNS resources are. */
  readonly paths: readonly string[];
}

/** What an admitted resource is put together from. */
export interface AdmittedResourceParts<Of extends Site> {
  readonly admit: Admit<Of>;
  /** Paths of DNS resources (`DnsResource.byPath`), which all sites have. */
  readonly paths: readonly string[];
  readonly allowedOrigins: AllowedOrigins;
}

const OF_CLUSTER = /^\/clusters\/([^/]+)\/(dns-query|resolve)$/;

/**
 * Lets requests in, and hands them to the resource of whoever asks, which knows of nothing else. A preflight has to be answered before
 * anybody can show anything (Fetch standard, section 4.8); it tells nothing, whatever it is for.
 */
export function createAdmittedResource<Of extends Site>(
  parts: AdmittedResourceParts<Of>,
): AdmittedResource<Of> {
  const { admit, paths, allowedOrigins } = parts;
  const plain = new Set(paths);

  const methodsAt = (path: string): string | undefined => {
    if (plain.has(path)) return DNS_METHODS;
    if (path === "/resolve") return JSON_METHODS;
    const kind = OF_CLUSTER.exec(path)?.[2];
    if (kind === undefined) return undefined;
    return kind === "resolve" ? JSON_METHODS : DNS_METHODS;
  };

  const answerBy =
    (prepare: Prepare<Of> | undefined): Exchange =>
    (request) =>
      admit(
        request,
        ({ resource }, { path }) => {
          const asked = path === undefined ? request : new ReroutedRequest(request, path.url);
          return (exchangeOf(resource, pathOf(asked.url)) ?? resource.notFound)(asked);
        },
        (refusal) => refusal,
        prepare,
      );
  const answer = answerBy(undefined);

  return {
    paths,
    exchangeAt(path, prepare) {
      const admitted = prepare === undefined ? answer : answerBy(prepare);
      const methods = methodsAt(path);
      if (methods !== undefined)
        return (request) =>
          request.method === "OPTIONS" ? preflight(request, methods, allowedOrigins) : admitted(request);
      const token = readPathToken(path);
      return token !== undefined && methodsAt(token.url) !== undefined ? admitted : undefined;
    },
  };
}

/** What of a resource is at a path. */
function exchangeOf(resource: DnsResource, path: string): Exchange | undefined {
  const plain = resource.byPath.get(path);
  if (plain !== undefined) return plain;
  if (path === "/resolve") return resource.resolveJson;
  const [, clusterId, kind] = OF_CLUSTER.exec(path) ?? [];
  if (clusterId === undefined) return undefined;
  const { answerDns, resolveJson } = resource.ofCluster(clusterId);
  return kind === "resolve" ? resolveJson : answerDns;
}

/** The path of a URL, or of a path with its query. */
export function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : Math.max(0, url.indexOf("/", 8));
  const end = url.slice(start).search(/[?#]/);
  return end === -1 ? url.slice(start) : url.slice(start, start + end);
}

/** A request as if it had come for another URL. */
class ReroutedRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly #request: HttpRequest;

  constructor(request: HttpRequest, url: string) {
    this.method = request.method;
    this.url = url;
    this.#request = request;
  }

  get host(): string {
    return this.#request.host;
  }

  get client(): Partial<Client> | undefined {
    return this.#request.client;
  }

  header(name: string): string | null {
    return this.#request.header(name);
  }

  body(most: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.#request.body(most);
  }
}
