import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { TEST_DEADLINE } from "./test/deadline.ts";

/** Unit tests that change what all files of a process share: each file has a process of its own. */
const ISOLATED: string[] = [
  // Their mocks of modules, and `process`, are there for all files of a process.
  "test/worker/control/api-writer.test.ts",
  "test/worker/control/leader.test.ts",
  "test/worker/control/events/event-recorder.test.ts",
];

/** End-to-end tests that measure the memory of a gateway: they run after all others. */
const MEASURING: string[] = [
  "test/e2e/abuse/http2/http2-floods.e2e.test.ts",
  "test/e2e/abuse/connections/http1-attacks.e2e.test.ts",
  "test/e2e/abuse/queries/plain-dns-attacks.e2e.test.ts",
];

/** End-to-end tests that take longest: they begin first, so that none of them runs alone in the end. */
const LONG: string[] = [
  "test/e2e/edge/worker.e2e.test.ts",
  "test/e2e/container/container.e2e.test.ts",
  "test/e2e/answers/pages.e2e.test.ts",
  "test/e2e/replica/many/failover.e2e.test.ts",
  "test/package/package.e2e.test.ts",
  "test/e2e/clients/pages.e2e.test.ts",
  "test/e2e/kubernetes/install/manifests.e2e.test.ts",
  "test/e2e/hosts/workerd.e2e.test.ts",
  "test/e2e/replica/servers/sentinel.e2e.test.ts",
  "test/e2e/clients/resolvers/resolvers.e2e.test.ts",
  "test/e2e/replica/many/chaos.e2e.test.ts",
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const long = LONG.map((file) => fileURLToPath(new URL(file, import.meta.url)));
    const rank = ({ moduleId }: TestSpecification) =>
      long.includes(moduleId) ? long.indexOf(moduleId) : long.length;
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

/** No test waits for a time: they are for machines that are busy. */
const timeouts = { testTimeout: TEST_DEADLINE, hookTimeout: TEST_DEADLINE };

const unit = {
  // Answering threads of gateways load TypeScript without Vite: 52 s of CPU time for 26 gateways, 30 s with
  // the cache.
  env: { NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/node", import.meta.url)) },
  setupFiles: ["test/property-runs.ts"],
  ...timeouts,
  maxWorkers: 2,
};

const e2e = {
  globalSetup: "test/e2e/servers/run-folder.ts",
  ...timeouts,
};

export default defineConfig({
  test: {
    sequence: { sequencer: LongFirst },
    projects: [
      {
        test: {
          ...unit,
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.{e2e,soak}.test.ts", ...ISOLATED],
          isolate: false,
        },
      },
      { test: { ...unit, name: "unit-isolated", include: ISOLATED } },
      {
        test: {
          ...e2e,
          name: "e2e",
          include: ["test/**/*.e2e.test.ts"],
          exclude: MEASURING,
          env: { E2E_TOOLS: "ci" },
          // API servers go from file to file (test/e2e/servers/kubernetes/api-server.ts).
          isolate: false,
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...e2e,
          name: "e2e-measuring",
          include: MEASURING,
          env: { E2E_TOOLS: "ci" },
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...e2e,
          name: "soak",
          include: ["test/**/*.soak.test.ts"],
          fileParallelism: false,
        },
      },
    ],
  },
});
