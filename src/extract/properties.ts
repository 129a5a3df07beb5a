import { omitUndefined, quote, readBoundedText } from "./fields.ts";
import type { Report } from "./findings.ts";
import type { ServiceProperties } from "./objects.ts";

/** The global properties except the ports, as in the object (KEP-1645, Global Properties). */
export function readGlobalProperties(report: Report, spec: ServiceProperties | undefined) {
  return omitUndefined({
    sessionAffinity: readBoundedText(report, "spec.sessionAffinity", spec?.sessionAffinity, 63),
    sessionAffinityTimeoutSeconds: readSeconds(
      report,
      "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
      spec?.sessionAffinityConfig?.clientIP?.timeoutSeconds,
    ),
    internalTrafficPolicy: readBoundedText(
      report,
      "spec.internalTrafficPolicy",
      spec?.internalTrafficPolicy,
      63,
    ),
    trafficDistribution: readBoundedText(report, "spec.trafficDistribution", spec?.trafficDistribution, 317),
  });
}

function readSeconds(report: Report, field: string, value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  report("InvalidField", `${field} holds ${quote(value)}, which is not a whole number; it is left out`);
  return undefined;
}
