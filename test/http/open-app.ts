import { createAdmit, knownKinds } from "../../src/access/admission.ts";
import type { Client } from "../../src/access/client.ts";
import { socketAddress } from "../../src/access/client.ts";
import { createAccessRules } from "../../src/access/rule.ts";
import { AccessCounters, QueryCounters } from "../../src/answer/query-counters.ts";
import { type App, type AppParts, createApp } from "../../src/http/app.ts";
import type { AuditParts } from "../../src/http/audit.ts";
import type { RuleParts } from "../../src/http/doh/rule-answers.ts";
import { type AllowedOrigins, NO_ORIGIN } from "../../src/http/messages/fields.ts";
import type { PathPolicies } from "../../src/http/path-table.ts";
import { createPushRoutes } from "../../src/http/push/pushing.ts";
import { createStubRoutes } from "../../src/http/stubs.ts";
import { createTransferRoutes } from "../../src/http/transfer.ts";
import { EVERYTHING } from "../../src/merge/visibility.ts";
import { FakeGateway, NOW } from "./fake-gateway.ts";

/** What parts of an application are where a test gives no others. */
const defaultParts = () => ({
  clock: () => NOW,
  zones: [] as readonly string[],
  version: "0",
  counters: new QueryCounters(),
  accessCounters: new AccessCounters(),
  policies: REFUSE_ALL,
  allowedOrigins: NO_ORIGIN as AllowedOrigins,
  queryBytes: 65_535,
});
type DefaultParts = ReturnType<typeof defaultParts>;

/** Names out of zone are refused on every path. */
export const REFUSE_ALL: PathPolicies = { default: "refuse", byPath: new Map() };

/** What an application that answers everybody is put together from. */
export type OpenAppParts = Omit<AppParts, "access" | "within" | "gateway" | keyof DefaultParts> &
  Partial<DefaultParts & Omit<RuleParts, "metrics">>;

/** An application that answers everybody. */
export interface OpenApp extends App {
  request(path: string | Request, init?: RequestInit, client?: Partial<Client>): Promise<Response>;
}

/** The application of a gateway whose one rule is `public`. */
export function openApp(given: OpenAppParts = {}): OpenApp {
  const { gateway = new FakeGateway(), pages, prepare, listed, ...parts } = given;
  const rules = createAccessRules(EVERYTHING, []);
  const admit = createAdmit({
    rules,
    credentials: [],
    hostNames: [],
    publicHasTokens: true,
    clientAddress: socketAddress,
  });
  const app = createApp({
    ...defaultParts(),
    ...parts,
    gateway,
    access: { rules, kinds: knownKinds([]), admit, clientAddress: socketAddress },
    within: () => ({
      gateway,
      pages,
      ...(prepare !== undefined && { prepare }),
      ...(listed !== undefined && { listed }),
    }),
  });
  return {
    ...app,
    request: async (path, init, client) => {
      const url = typeof path === "string" ? new URL(path, "http://localhost") : path;
      return app.fetch(new Request(url, init), client);
    },
  };
}

/** The routes of all APIs, over nothing: for tests of what is in front of them. */
export function apiRoutes(audited: AuditParts = {}) {
  const gateway = {} as never;
  return {
    pushRoutes: createPushRoutes({
      ...audited,
      gateway: { turns: {} } as never,
      authority: {} as never,
      limits: {} as never,
    }),
    transferRoutes: createTransferRoutes({
      ...audited,
      gateway,
      reader: gateway,
      turns: gateway,
      settings: "",
      clock: () => 0,
      authority: {} as never,
    }),
    stubRoutes: createStubRoutes({ ...audited, stubs: {} as never }),
  };
}
