import type { ClusterFinding } from "../../merge/clusterset.ts";
import type { Suggestion } from "../explanation.ts";
import { type Facts, type Verdict, verdict } from "../facts.ts";
import { nearPrefixes } from "../near/near-services.ts";
import type { NamedService } from "../subject.ts";
import { endpointPrefixes, portPrefixes } from "./records.ts";

/**
 * The verdict on a name below a namespace that the view has, where no such name is served.
 * @param having the clusters that have the namespace @param near services with a similar name
 */
export function judgeMissing(
  facts: Facts,
  service: NamedService,
  having: readonly string[],
  near: () => Suggestion[],
): Verdict {
  const { subject, account, findings } = facts;
  const { namespace, name, below } = service;
  const zone = subject!.zone.name;
  const merged = account?.service;
  if (merged !== undefined) {
    const own = `${name}.${namespace}.svc.${zone}`;
    if (merged.type === "Headless" && merged.endpoints.length === 0)
      return verdict(
        "NO_READY_ENDPOINT",
        "The service is headless and has no ready endpoint: until then it has no names.",
      );
    if (below.length === 0) return leftOut(findings);
    const prefix = below.join(".");
    return below[0]!.startsWith("_")
      ? verdict(
          "NO_SUCH_PORT",
          `The service has no port ${prefix}.`,
          nearPrefixes(prefix, portPrefixes(merged), own, "a port"),
        )
      : verdict(
          "NO_SUCH_ENDPOINT",
          `The service has no endpoint ${prefix}.`,
          nearPrefixes(prefix, endpointPrefixes(merged), own, "an endpoint"),
        );
  }
  if ((account?.parts.length ?? 0) > 0 || findings.length > 0) return leftOut(findings);
  const where = having.length === 0 ? "" : ` (${having.slice(0, 10).join(", ")})`;
  return verdict(
    "NOT_EXPORTED",
    `The namespace ${namespace} exists${where}, but no cluster exports a service ${name} in it.`,
    near(),
  );
}

function leftOut(findings: readonly ClusterFinding[]): Verdict {
  const [first] = findings;
  const reason = first === undefined ? "" : ` ${first.reason} in ${first.clusterId}: ${first.message}.`;
  return verdict("LEFT_OUT", `A cluster reports the service, but it is not served.${reason}`);
}
