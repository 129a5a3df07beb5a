import type { GatewayStages } from "../../src/gateway/stages.ts";
import { notReady } from "../../src/resolve/faults.ts";
import { resolve } from "../../src/resolve/resolve.ts";
import { compileZoneImage } from "../../src/zone/compile.ts";
import type { ZoneImage } from "../../src/zone/image/image.ts";

/** The stages as they are served with, for one zone. */
export function realStages(): GatewayStages<ZoneImage> {
  return {
    compile: (clusterset, now, history) =>
      compileZoneImage(clusterset, { serial: Math.floor(now / 1000), ttl: 30 }, history),
    resolve: (query, context) => resolve(query, { ...context, rotation: 0, outside: "refuse" }),
    notReady,
  };
}
