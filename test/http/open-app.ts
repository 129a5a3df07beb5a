import { createAdmit, knownKinds, type RuleCredentials } from "../../src/access/admission.ts";
import { type Client, socketAddress } from "../../src/access/client.ts";
import { type AccessRules, createAccessRules } from "../../src/access/rule.ts";
import { AccessCounters, QueryCounters } from "../../src/answer/answer-query.ts";
import { type App, type AppParts, createApp } from "../../src/http/app.ts";
import type { AuditParts } from "../../src/http/audit.ts";
import type { RuleParts } from "../../src/http/doh/rule-answers.ts";
import { NO_ORIGIN } from "../../src/http/messages/message.ts";
import { createPushRoutes } from "../../src/http/push/pushing.ts";
import { createStubRoutes } from "../../src/http/stubs.ts";
import { createTransferRoutes } from "../../src/http/transfer.ts";
import { EVERYTHING } from "../../src/merge/visibility.ts";
import { FakeGateway, NOW } from "./fake-gateway.ts";

/** What an application is put together from. */
export interface OpenAppParts
  extends Partial<Omit<AppParts, "access" | "gateway">>,
    Partial<Omit<RuleParts, "metrics">> {
  /** Default: all clients see everything. */
  readonly rules?: AccessRules;
  readonly credentials?: readonly RuleCredentials[];
}

/** An application, for tests that send it requests. */
export interface OpenApp extends App {
  request(path: string | Request, init?: RequestInit, client?: Partial<Client>): Promise<Response>;
}

/** Opens an application; by default that of a gateway whose one rule is `public`. */
export function openApp(given: OpenAppParts = {}): OpenApp {
  const { gateway = new FakeGateway(), pages, prepare, listed = () => undefined, ...rest } = given;
  const { rules = createAccessRules(EVERYTHING, []), credentials = [], clock = () => NOW, ...parts } = rest;
  const admit = createAdmit({
    rules,
    credentials,
    hostNames: ["doh.example"],
    publicHasTokens: true,
    clientAddress: socketAddress,
    clock,
  });
  const app = createApp({
    zones: [],
    version: "0",
    counters: new QueryCounters(),
    accessCounters: new AccessCounters(),
    policies: { default: "refuse", byPath: new Map() },
    allowedOrigins: NO_ORIGIN,
    queryBytes: 65_535,
    within: () => ({ gateway, pages, prepare, listed }),
    ...parts,
    clock,
    gateway,
    access: { rules, kinds: knownKinds(credentials), admit, clientAddress: socketAddress },
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
