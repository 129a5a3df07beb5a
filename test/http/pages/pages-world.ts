import { ClientTests } from "../../../src/answer/client-tests.ts";
import { createStages } from "../../../src/assembly/stages.ts";
import { ServeConfig } from "../../../src/config/serve-config.ts";
import { SERVICE_EXPLAINER } from "../../../src/explain/service/explainer.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { createDirectory, type ListedGeneration } from "../../../src/http/pages/directory.ts";
import type { PageSettings } from "../../../src/http/pages/page-parts.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { createMemoryStore } from "../../../src/store/memory-store.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";
import { putSnapshot } from "../../gateway/pushes.ts";
import { openApp } from "../open-app.ts";
import { type ReadPage, readPage } from "./read-page.ts";

/** A gateway with pages and a stopped clock. */
export interface PagesWorld {
  readonly clock: FakeClock;
  readonly gateway: Awaited<ReturnType<typeof openGateway>>;
  fetch(path: string, headers?: Record<string, string>, method?: string): Promise<Response>;
  page(path: string): Promise<ReadPage>;
}

interface WorldSettings {
  readonly zones?: readonly string[];
  readonly origin?: string;
  /** Whether the gateway records the queries of client tests. */
  readonly canSeeTests?: boolean;
  /** What is served. Default: the gateway's generation with what it is compiled from. */
  readonly listed?: () => ListedGeneration | undefined;
}

/** The address of the requests. */
export const ORIGIN = "https://doh.example:8443";

async function openGateway(clock: FakeClock, zones: readonly string[]) {
  return Gateway.open({
    store: createMemoryStore(),
    stages: createStages({ ...ServeConfig.parse({}), federations: [], zones: [...zones] }),
    clock,
    onEvent: () => {},
  });
}

/** Pushes the snapshots and opens the pages; `settings` override those of a gateway with all parts. */
export async function pagesWorld(
  snapshots: readonly ClusterSnapshot[],
  settings: Partial<PageSettings> & WorldSettings = {},
): Promise<PagesWorld> {
  const { zones = ["clusterset.local", "clusterset.test"], origin = ORIGIN } = settings;
  const clock = new FakeClock();
  const gateway = await openGateway(clock, zones);
  for (const snapshot of snapshots) {
    const pushed = putSnapshot(gateway, snapshot, { leaseSeconds: 60 });
    await clock.advance(0);
    await pushed;
  }
  const current = () => {
    const served = gateway.current(clock.now());
    return served && { ...served, explainer: SERVICE_EXPLAINER };
  };
  const { canSeeTests = true, listed = current, ...pages } = settings;
  const app = openApp({
    gateway,
    clientTests: canSeeTests ? new ClientTests() : undefined,
    clock: () => clock.now(),
    zones,
    version: "1.2.3",
    listed,
    pages: { directory: createDirectory(listed), ...pages },
  });
  const fetch = async (path: string, headers: Record<string, string> = {}, method = "GET") =>
    app.request(`${origin}${path}`, { headers, method });
  return { clock, gateway, fetch, page: async (path) => readPage(await fetch(path)) };
}
