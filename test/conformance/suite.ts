import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { waitFor } from "../e2e/servers/wait.ts";
import { decode } from "../resolve/ask.ts";
import {
  CLIENT_TOKENS,
  clientRequest,
  OPTION_CODE,
  TRUSTED,
  viewCases,
  viewHttpCases,
} from "./cases/client-views.ts";
import { clusterLocalTable } from "./cases/cluster-local.ts";
import { clustersetTable } from "./cases/clusterset.ts";
import { crossOriginCases, listedOriginCases, neverReadableCases, ORIGIN } from "./cases/cross-origin.ts";
import { dohCases, shortQueryCases } from "./cases/doh.ts";
import { federations, federationTable } from "./cases/federation.ts";
import { jsonCases } from "./cases/json.ts";
import { longTokens } from "./cases/long-tokens.ts";
import { PUBLIC_URL, pageCases } from "./cases/pages.ts";
import { expectPins, pinSettings } from "./cases/pins.ts";
import { PUSH_BOUNDS, pushLimitCases, pushRefusalCases } from "./cases/push-refusals.ts";
import { pushScenarios } from "./cases/push-scenarios.ts";
import { leaseOverCases, neverSeenCases, notReadyCases, readyCases } from "./cases/readiness.ts";
import { ADMIN, HOST_KIND, openCases, restrictedCases, restrictedRules } from "./cases/restricted.ts";
import { someClustersTable } from "./cases/some-clusters.ts";
import { type DnsTable, expectAnswer, titledRows, viewOf } from "./dns-case.ts";
import { askByDoh } from "./doh-client.ts";
import { HeldClusters } from "./held-clusters.ts";
import { credentialsOf, type HostSettings, type HostUnderTest, type RunningHost } from "./host-under-test.ts";
import { checkCase, type Fetch, type HttpCase, makeRequest, titled } from "./http-case.ts";
import { httpWorld, WHO, WHO_BY_VIEW } from "./http-world.ts";
import { PUSH_TOKENS, pushApi } from "./push-client.ts";
import { withSerial } from "./serial.ts";

const METHODS = ["GET", "POST"] as const;
const TABLES = [clustersetTable, someClustersTable, clusterLocalTable, federationTable];
const TOKENS = [
  ...PUSH_TOKENS,
  ...CLIENT_TOKENS,
  ...["cluster-b", "east", "north", "foo", "bar", "baz", "qux", "away", "near"].map((clusterId) => ({
    clusterId,
    token: `${clusterId}-token`,
  })),
];

const LONG_TOKENS = await longTokens();

/** What the tables need: the zones and federations of all of them, who may push, who may ask as whom. */
const SETTINGS: HostSettings = {
  zones: [...clustersetTable.zones!],
  federations,
  sourceCluster: { option: OPTION_CODE, trusted: TRUSTED },
  lease: { minimumSeconds: 1 },
  publicUrl: PUBLIC_URL,
  access: { public: true },
  cors: { origins: "*" },
  push: { credentials: [...credentialsOf(TOKENS), LONG_TOKENS.credential, ...pinSettings.credentials] },
  services: pinSettings.services,
};

const RESTRICTED = await restrictedRules();

/** Settings that allow little. */
const NARROW: HostSettings = {
  cors: { origins: [ORIGIN] },
  push: { credentials: credentialsOf(PUSH_TOKENS) },
  limits: { queryBytes: 512, ...PUSH_BOUNDS },
};

/** The conformance suite: the same cases for every host, each a test of its own. */
export function describeHost(host: HostUnderTest): void {
  describe(host.name, () => {
    let running: RunningHost;
    let clusters: HeldClusters;
    const fetch: Fetch = (request) => running.fetch(request);
    beforeAll(async () => {
      running = await host.start(SETTINGS);
      clusters = new HeldClusters(fetch, TOKENS);
    });
    afterAll(() => running?.stop());

    httpTable("before a first push", notReadyCases, fetch);

    describe("two clusters", () => {
      beforeAll(() => clusters.hold(httpWorld));
      httpTable("the DNS resource", dohCases, fetch);
      httpTable("JSON", jsonCases, fetch);
      httpTable("CORS", crossOriginCases, fetch);
      httpTable("CORS", neverReadableCases, fetch);
      httpTable("health", readyCases, fetch);
      httpTable("clusters that never pushed", neverSeenCases, fetch);
      httpTable("pages", pageCases, fetch);
      httpTable("clients, and what is rejected", viewHttpCases, fetch);
      describeViews(fetch);
    });

    for (const table of TABLES)
      describe(table.title, () => {
        beforeAll(() => clusters.hold(table.snapshots));
        describeDns(table, fetch);
      });

    describe("the push API", () => {
      beforeAll(() => clusters.hold([]));
      const leave = async () => {
        for (const { clusterId, token } of PUSH_TOKENS)
          await pushApi(fetch).send("DELETE", clusterId, { token });
      };
      beforeEach(leave);
      afterAll(leave);
      httpTable("refuses", pushRefusalCases, fetch);
      it("pins what a cluster may export, and who owns a service", () => expectPins(pushApi(fetch)));
      httpTable("long tokens", LONG_TOKENS.cases, (request) =>
        (running.workerFetch ?? running.fetch)(request),
      );
      it.each(titled(pushScenarios))("%s", (_, scenario) => scenario.run(pushApi(fetch)));
    });

    describe("after the lease of every cluster", () => {
      beforeAll(async () => {
        const leaseSeconds = running.pass === undefined ? 1 : 10;
        await clusters.replace(httpWorld, leaseSeconds);
        running.pass?.(leaseSeconds * 1000);
        await waitFor("the leases are over", async () =>
          (await (await fetch(makeRequest({ path: "/readyz" }))).text()).includes("expired"),
        );
      });
      afterAll(() => void vi.restoreAllMocks());
      httpTable("nothing is denied", leaseOverCases, fetch);
    });
  });

  describe(`${host.name}, with narrow settings`, () => {
    const fetch = startHost(host, NARROW);
    httpTable("one origin", listedOriginCases, fetch);
    httpTable("short queries", shortQueryCases, fetch);
    httpTable("short pushes", pushLimitCases, fetch);
  });

  describe(`${host.name}, with access rules`, () => {
    const { access, kinds } = RESTRICTED;
    const fetch = startHost(host, { ...SETTINGS, access });
    beforeAll(() => {
      const asAdmin: Fetch = (request) => {
        if (!request.headers.has("authorization")) request.headers.set("authorization", ADMIN);
        return fetch(request);
      };
      return new HeldClusters(asAdmin, TOKENS).hold(httpWorld);
    });
    const all = host.takesHostNames === true ? [...kinds, HOST_KIND] : kinds;
    httpTable("who is known, and who is not", restrictedCases(all), fetch);
    httpTable("what is everybody's", openCases, fetch);
  });
}

/** Runs a host for the tests of this block. */
function startHost(host: HostUnderTest, settings: HostSettings): Fetch {
  let running: RunningHost;
  beforeAll(async () => {
    running = await host.start(settings);
  });
  afterAll(() => running?.stop());
  return (request) => running.fetch(request);
}

function httpTable(title: string, cases: readonly HttpCase[], fetch: Fetch): void {
  describe(title, () => {
    it.each(titled(cases))("%s", (_, entry) => checkCase(fetch, entry));
  });
}

function describeViews(fetch: Fetch): void {
  describe("a client", () => {
    it.each(titled(viewCases))("%s", async (_, { view, cacheControl, vary, ...asked }) => {
      for (const method of METHODS) {
        const response = await fetch(clientRequest(WHO, asked, method));
        const { answer } = decode(Buffer.from(await response.arrayBuffer()));
        expect(answer.map((record) => record.split(" ").at(-1)).sort(), method).toEqual(
          WHO_BY_VIEW[view ?? ""],
        );
        expect(response.headers.get("cache-control"), method).toBe(cacheControl);
        expect(response.headers.get("vary"), method).toBe(vary);
      }
    });
  });
}

function describeDns(table: DnsTable, fetch: Fetch): void {
  const since = Date.now();
  it.each(titledRows(table))("%s", async (_, entry) => {
    for (const method of METHODS) {
      const seen = await askByDoh(fetch, method, viewOf(table, entry), entry.ask);
      expectAnswer(table, entry, withSerial(seen, table.serial, since));
    }
  });
}
