import { LocalService } from "../../snapshot/schema.ts";
import { quote, readLabel, readList, readTexts } from "../fields.ts";
import type { Report } from "../findings.ts";
import type { Service } from "../objects.ts";

/**
 * The creation time of an object without `metadata.creationTimestamp`, for example in a manifest that was never
 * applied. It is later than every other, so that such an object never wins against a running service.
 */
export const UNDATED = "9999-12-31T23:59:59Z";

/** Reads `metadata.creationTimestamp`; an invalid value becomes an `InvalidTimestamp` finding and {@link UNDATED}. */
export function readCreation(report: Report, value: unknown): string {
  if (value === undefined || value === null) return UNDATED;
  const result = LocalService.shape.createdAt.safeParse(value);
  if (result.success) return result.data;
  report(
    "InvalidTimestamp",
    `metadata.creationTimestamp holds ${quote(value)}, which is not an RFC 3339 time; the object counts as the youngest`,
  );
  return UNDATED;
}

/** Whether a Service is headless: `clusterIP: None`. */
export function isHeadless(spec: Service["spec"]): boolean {
  return spec?.clusterIP === "None" || readList(spec?.clusterIPs)[0] === "None";
}

/** The annotation from before Services had the field `publishNotReadyAddresses` (DNS-based service discovery, section 2.1). */
const TOLERATE_UNREADY_ANNOTATION = "service.alpha.kubernetes.io/tolerate-unready-endpoints";

/** Whether all endpoints of a Service count as ready, by the field or by the older annotation; undefined if neither is set. */
export function readPublishNotReady({ metadata, spec }: Service): true | undefined {
  const annotated = readLabel(metadata?.annotations, TOLERATE_UNREADY_ANNOTATION) === "true";
  return annotated || spec?.publishNotReadyAddresses === true ? true : undefined;
}

/** The cluster IPs of a Service that is not headless; undefined if it has none yet. */
export function readClusterIPs(report: Report, spec: Service["spec"]): string[] | undefined {
  const both = readTexts(report, "spec.clusterIPs", spec?.clusterIPs, 64, 2);
  return nonEmpty(both.length > 0 ? both : readTexts(report, "spec.clusterIP", [spec?.clusterIP], 64, 2));
}

/** The list; undefined if it is empty. */
export function nonEmpty<Element>(list: Element[]): Element[] | undefined {
  return list.length === 0 ? undefined : list;
}
