import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/**
 * End-to-end tests that wait most of their time, for leases, caches and retries, and measure neither time nor memory: two files at a time.
 * All others run one after the other.
 */
const WAITING = [
  "test/e2e/kubernetes/api-server-outage.e2e.test.ts",
  "test/e2e/kubernetes/crd-versions.e2e.test.ts",
  "test/e2e/durability/gateway-durability.e2e.test.ts",
  "test/e2e/pushes/leases.e2e.test.ts",
  "test/e2e/control/any-sequence.e2e.test.ts",
  "test/e2e/control/cut-off.e2e.test.ts",
  "test/e2e/control/leader.e2e.test.ts",
  "test/e2e/control/necessary-rights.e2e.test.ts",
  "test/e2e/kubernetes/rights/rights.e2e.test.ts",
  "test/e2e/access/security-set-ups.e2e.test.ts",
  "test/e2e/kubernetes/service-account-tokens.e2e.test.ts",
  "test/e2e/durability/uncaught.e2e.test.ts",
  "test/e2e/durability/rotation.e2e.test.ts",
  "test/e2e/clients/resolvers/resolvers.e2e.test.ts",
  "test/e2e/edge/clusters.e2e.test.ts",
  "test/e2e/edge/worker.e2e.test.ts",
];

const e2e = {
  globalSetup: "test/e2e/servers/run-folder.ts",
  testTimeout: 120_000,
  hookTimeout: 300_000,
};

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          // Answering threads of gateways load TypeScript without Vite: 52 s of CPU time for 26 gateways, 30 s with the cache.
          env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/node", import.meta.url)) },
          include: ["test/**/*.test.ts"],
          exclude: ["test/e2e/**"],
          // No test waits for a time: this is for machines that are busy.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          ...e2e,
          name: "e2e",
          include: ["test/e2e/**/*.e2e.test.ts"],
          exclude: WAITING,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...e2e,
          name: "e2e-waiting",
          include: WAITING,
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
