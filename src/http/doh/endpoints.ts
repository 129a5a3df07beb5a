import type { Endpoint } from "../../answer/answer-query.ts";
import type { OutsidePolicy } from "../../forward/outside.ts";
import { HTTPS } from "../../resolve/message-writer.ts";

/** The policy for names out of zone. */
export interface PathPolicies {
  readonly default: OutsidePolicy;
  /**
   * By path: `/dns-query`, `/resolve`, `/clusters` for the paths of all clusters; every other path is another DNS resource that answers
   * like `/dns-query`.
   */
  readonly byPath: ReadonlyMap<string, OutsidePolicy>;
}

/** The endpoint of a path; those of clusters are at `/clusters`. */
export type EndpointAt = (path: string, cluster?: string) => Endpoint;

const BUILT_IN = new Set(["/dns-query", "/resolve", "/clusters"]);

/** The paths of the DNS resources: `/dns-query`, and the other paths in the policies. */
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
