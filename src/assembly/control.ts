import type { Reach } from "../desired/desired-service.ts";
import { createControl } from "../gateway/desired/control.ts";
import type { ControlLimits } from "../http/push/desired.ts";
import { type ControlCounts, createDesiredRoute } from "../http/push/desired.ts";
import type { Visibility } from "../merge/visibility/visibility.ts";
import { controlScope } from "./credentials.ts";
import type { ControlParts } from "./platform.ts";

/** The settings of a push credential that the control plane reads. */
interface ControlSetting {
  readonly clusterId: string;
  readonly control?: boolean | Visibility | undefined;
  readonly reach?: Reach | undefined;
}

/** The control plane that push credentials allow; undefined where none of them does. For hosts that serve it: the Worker does not load its code. */
export function controlOf(
  credentials: readonly ControlSetting[],
  counts: ControlCounts,
  limits?: Partial<ControlLimits>,
): ControlParts | undefined {
  const clusters = credentials.flatMap(({ clusterId, control }) => {
    const visibility = controlScope(control);
    return visibility === undefined ? [] : { clusterId, visibility };
  });
  if (clusters.length === 0) return undefined;
  const reach = new Map(
    credentials.flatMap((one) => (one.reach === undefined ? [] : [[one.clusterId, one.reach] as const])),
  );
  const control = createControl(clusters, reach);
  return { control, counts, createRoute: createDesiredRoute, ...(limits && { limits }) };
}
