/** A token, and the SHA-256 by which the gateway knows it. */
export const TOKEN = "a-token-of-a-consumer-of-the-package-000000000";
export const TOKEN_SHA256 = "2afcb5365239e542bd58a336918fecb213b02e5215606be1ccbcbb0fbb84be13";

/** What one cluster reports: one service with one address. */
export const snapshot = {
  formatVersion: 1 as const,
  clusterId: "cluster-a",
  namespaces: { shop: {} },
  exports: {
    "shop/web": {
      exportedAt: "2026-01-01T00:00:00Z",
      serviceType: "ClusterIP" as const,
      headless: false,
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      clusterIPs: ["10.96.1.10"],
      endpoints: {},
    },
  },
  imports: {
    "shop/web": {
      type: "ClusterSetIP",
      ips: ["10.112.0.10"],
      ports: [{ name: "http", protocol: "TCP", port: 80 }],
      endpoints: {},
    },
  },
  findings: {},
};
