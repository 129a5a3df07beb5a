import type { Endpoint } from "../../answer/answer-query.ts";
import type { OutsidePolicy } from "../../forward/outside.ts";
import { HTTPS } from "../../resolve/transport.ts";

/** What names out of zone get. */
export interface PathPolicies {
  readonly default: OutsidePolicy;
  /**
   * By path: `/dns-query`, `/resolve`, `/clusters` for those of all clusters; every other path is one more DNS resource that answers
   * as `/dns-query` does.
   */
  readonly byPath: ReadonlyMap<string, OutsidePolicy>;
}

/** What queries at a path are answered by; those of clusters are at `/clusters`. */
export type EndpointAt = (path: string, cluster?: string) => Endpoint;

const BUILT_IN = new Set(["/dns-query", "/resolve", "/clusters"]);

/** Where the DNS resources are: at `/dns-query`, and where policies name other paths. */
export function dnsPaths(policies: PathPolicies): readonly string[] {
  return ["/dns-query", ...[...policies.byPath.keys()].filter((path) => !BUILT_IN.has(path))];
}

export function createEndpointAt(policies: PathPolicies): EndpointAt {
  return (path, cluster) => ({
    transport: HTTPS,
    cluster,
    outsideZones: policies.byPath.get(path) ?? policies.default,
  });
}
