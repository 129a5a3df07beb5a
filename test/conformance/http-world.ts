import type { ClusterSnapshot } from "../../src/snapshot/schema.ts";
import { endpoints, exported, imported, snapshot } from "../merge/fixtures.ts";

/** A name with other addresses in each view. */
export const WHO = "who.shop.svc.clusterset.test";
/** Its addresses, by source cluster; "" is outside. */
export const WHO_BY_VIEW: Readonly<Record<string, readonly string[]>> = {
  "": ["10.1.0.2", "10.2.0.2"],
  "cluster-a": ["10.1.0.2"],
  "cluster-b": ["10.2.0.2"],
};

/** The world of the HTTP tables: `NAME` has `RECORD`, and `WHO` has its addresses. */
export const httpWorld: readonly ClusterSnapshot[] = [
  snapshot("cluster-a", {
    exports: { "shop/web": exported(), "shop/who": exported() },
    imports: { "shop/web": imported({ ips: ["10.1.0.1"] }), "shop/who": imported({ ips: ["10.1.0.2"] }) },
  }),
  snapshot("cluster-b", {
    exports: {
      "shop/web": exported({ endpoints: endpoints({ address: "10.2.0.1" }) }),
      "shop/who": exported(),
    },
    imports: { "shop/who": imported({ ips: ["10.2.0.2"] }) },
  }),
];
