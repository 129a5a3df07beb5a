import { SERVICE_EXPLAINER } from "../../../src/explain/service.ts";
import type { Gateway } from "../../../src/gateway/gateway.ts";
import type { ScopedGateway } from "../../../src/gateway/gateway-types.ts";
import { createDirectory, type Listed, type PageSettings } from "../../../src/http/pages/directory.ts";
import { Accounts, objectionsIn } from "../../../src/names/services.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";
import { putSnapshot } from "../../gateway/open-gateway.ts";
import { openKeyed } from "../../gateway/open-keyed.ts";
import { openApp } from "../open-app.ts";
import { type ReadPage, readPage } from "./read-page.ts";

/** A gateway with pages and a stopped clock. */
export interface PagesWorld {
  readonly clock: FakeClock;
  readonly gateway: Gateway;
  fetch(path: string, headers?: Record<string, string>, method?: string): Promise<Response>;
  page(path: string): Promise<ReadPage>;
  /** Renews the lease of a cluster. */
  renew(clusterId: string, lease?: Parameters<Gateway["renew"]>[2]): Promise<void>;
}

interface WorldSettings {
  readonly zones?: readonly string[];
  readonly origin?: string;
  /** What is served. Default: what the gateway answers from. */
  readonly listed?: () => Listed | undefined;
}

/** The address of the requests. */
export const ORIGIN = "https://doh.example:8443";

/** Pushes the snapshots and opens the pages; `settings` override those of a gateway with all parts. */
export async function pagesWorld(
  snapshots: readonly ClusterSnapshot[],
  settings: Partial<PageSettings> & WorldSettings = {},
): Promise<PagesWorld> {
  const { zones = ["clusterset.local", "clusterset.test"], origin = ORIGIN } = settings;
  const clock = new FakeClock();
  const gateway = openKeyed({ clock, names: { zones: { ttl: 5, zones: [...zones] }, merging: {} } });
  for (const snapshot of snapshots) {
    const pushed = putSnapshot(gateway, snapshot, { leaseSeconds: 60 });
    await clock.advance(0);
    await pushed;
  }
  const current = () => listedOf(gateway, gateway.everything);
  const { listed = current, ...pages } = settings;
  const app = openApp({
    gateway: gateway.everything,
    clock: () => clock.now(),
    zones,
    version: "1.2.3",
    listed,
    pages: { directory: createDirectory(listed), ...pages },
  });
  const fetch = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
    const response = app.request(`${origin}${path}`, { headers, method });
    await clock.advance(0);
    return response;
  };
  const renew: PagesWorld["renew"] = async (clusterId, lease = { leaseSeconds: 600 }) => {
    const { clusters } = gateway.everything.status();
    const { generation } = clusters.find((one) => one.clusterId === clusterId)!;
    const renewed = gateway.renew(clusterId, generation, lease);
    await clock.advance(0);
    await renewed;
  };
  return { clock, gateway, fetch, renew, page: async (path) => readPage(await fetch(path)) };
}

/** What a scope of a gateway that merges has for its pages. */
export function listedOf({ turns }: Gateway, within: ScopedGateway, view?: string): Listed | undefined {
  const served = within.current();
  if (served === undefined) return undefined;
  const { world } = served;
  const accounts = new Accounts(world);
  const { withNames } = within;
  const survey = async () => {
    const all = await within.survey();
    return all && turns.later.run(objectionsIn(accounts, view, all));
  };
  return { world, view, merged: { accounts, explainer: SERVICE_EXPLAINER, turns, withNames, survey } };
}
