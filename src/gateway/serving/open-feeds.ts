import type { ServiceIndex } from "../../merge/index/service-index.ts";
import {
  checkVisibility,
  type Visibility,
  visibilityKey,
  withoutView,
} from "../../merge/visibility/visibility.ts";
import type { DesiredFeed } from "../desired/desired-feed.ts";
import type { ServedGeneration } from "../stages.ts";
import type { ServedScope } from "./served-scope.ts";
import type { ServingParts } from "./serving-parts.ts";

/**
 * The feeds of what is desired in clusters, by `visibilityKey` without a view.
 * @param scopeOf what is served in a scope, which has no view
 * @throws {RangeError} for a scope that contradicts itself, or has a range that is none
 */
export function openFeeds<Generation extends ServedGeneration>(
  { control, onEvent }: ServingParts<Generation>,
  index: ServiceIndex,
  scopeOf: (visible: Visibility) => ServedScope<Generation>,
): Map<string, DesiredFeed> {
  const feeds = new Map<string, DesiredFeed>();
  for (const { visibility } of control?.clusters ?? []) {
    checkVisibility(visibility);
    const visible = withoutView(visibility);
    const key = visibilityKey(visible);
    if (feeds.has(key)) continue;
    const { services, clusters } = scopeOf(visible);
    const ofScope = control!.clusters.filter((one) => visibilityKey(withoutView(one.visibility)) === key);
    const feed = control!.createFeed({
      ...{ index, services, reachOf: control!.reachOf },
      clusters: new Set(ofScope.map(({ clusterId }) => clusterId)),
      expiresAt: clusters.expiresAt,
      onError: (error) => onEvent({ event: "compile-failed", error }),
    });
    feeds.set(key, feed);
  }
  return feeds;
}
