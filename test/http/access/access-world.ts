import type { RuleCredentials } from "../../../src/access/admission.ts";
import type { Client } from "../../../src/access/client.ts";
import { createAccessRules, visibilitiesOf } from "../../../src/access/rule.ts";
import { AccessCounters } from "../../../src/answer/answer-query.ts";
import { createDirectory } from "../../../src/http/pages/directory.ts";
import { EVERYTHING, type Visibility } from "../../../src/merge/visibility.ts";
import type { ClusterSnapshot } from "../../../src/snapshot/schema.ts";
import { authorityOf, certified, sha256 } from "../../access/authorities.ts";
import { FakeClock } from "../../gateway/fake-clock.ts";
import { putSnapshot } from "../../gateway/open-gateway.ts";
import { openKeyed } from "../../gateway/open-keyed.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { type OpenAppParts, openApp } from "../open-app.ts";
import { listedOf } from "../pages/pages-world.ts";

export const ZONE = "clusterset.test";

/** What everybody of the rules sees: one namespace of one cluster. */
export const FEW: Visibility = { namespaces: ["shop"], clusters: ["west"] };

/** A rule of each kind. `admins` see everything. */
export const RULES: readonly (RuleCredentials & { readonly scope: Visibility })[] = [
  { name: "laptops", scope: FEW, bearer: [sha256("laptop")] },
  { name: "scripts", scope: FEW, basic: [{ username: "ci", passwordSha256: sha256("secret") }] },
  { name: "phones", scope: FEW, pathTokens: [sha256("phone")] },
  { name: "coredns", scope: FEW, hostTokens: [sha256("resolver")] },
  { name: "pods", scope: FEW, certificates: [{ san: "spiffe://example.org/pod" }] },
  { name: "office", scope: FEW, addresses: ["192.0.2.0/24"] },
  { name: "west", scope: { view: "west" }, bearer: [sha256("of-west")] },
  { name: "admins", scope: EVERYTHING, bearer: [sha256("admin")], pathTokens: [sha256("admin")] },
];

/** How a request shows something. */
export interface Shown {
  readonly host?: string;
  readonly prefix?: string;
  readonly authorization?: string;
  readonly client?: Partial<Client>;
}

/** What is known by rules of `FEW`, and something of its kind that is not. */
export const KINDS: readonly (readonly [rule: string, known: Shown, unknown: Shown])[] = [
  ["laptops", { authorization: "Bearer laptop" }, { authorization: "Bearer other" }],
  ["pods", { client: certified("spiffe://example.org/pod") }, { client: certified("spiffe://other") }],
  ["office", { client: { address: "192.0.2.7" } }, { client: { address: "192.0.3.7" } }],
];

/** A gateway with two clusters whose answers depend on the client. */
export async function accessWorld(
  given: Pick<OpenAppParts, "allowedOrigins" | "rate"> & {
    readonly everybody?: Visibility | undefined;
    readonly rules?: typeof RULES;
    readonly reported?: readonly ClusterSnapshot[];
  } = {},
) {
  const { everybody, rules = RULES, reported = CLUSTERS, allowedOrigins = "*", rate } = given;
  const clock = new FakeClock();
  const accessRules = createAccessRules(everybody, rules);
  const gateway = openKeyed({
    clock,
    names: { zones: { ttl: 5, zones: [ZONE, "clusterset.local"] }, merging: {} },
    scopes: visibilitiesOf(accessRules),
  });
  for (const one of reported) await putSnapshot(gateway, one, { leaseSeconds: 60 });
  const access = new AccessCounters();
  const errors: Error[] = [];
  const app = openApp({
    gateway: gateway.everything,
    accessCounters: access,
    allowedOrigins,
    rate,
    clock: () => clock.now(),
    zones: [ZONE],
    views: { credentials: authorityOf([{ clusterId: "east", tokenSha256: sha256("push-east") }]) },
    metrics: { contentType: "text/plain", render: async () => "all_metrics 1\n" },
    onError: (error) => errors.push(error),
    rules: accessRules,
    credentials: rules,
    within: ({ visibility }) => {
      const within = gateway.within(visibility);
      const listed = () => listedOf(gateway, within, visibility.view);
      return { gateway: within, listed, pages: { directory: createDirectory(listed) } };
    },
  });
  const ask = async (path: string, shown: Shown = {}, init: RequestInit = {}): Promise<Response> => {
    const { host = "gateway.example", prefix = "", authorization, client } = shown;
    const headers = new Headers(init.headers);
    if (authorization !== undefined) headers.set("authorization", authorization);
    const request = new Request(`https://${host}${prefix}${path}`, { ...init, headers });
    const response = app.fetch(request, client);
    // Pages and explanations are made in turns.
    if (response instanceof Promise) await clock.advance(0);
    return response;
  };
  return { app, access, ask, errors };
}

const CLUSTERS = [
  snapshot("west", {
    namespaces: { shop: {}, secret: {} },
    exports: {
      "shop/web": exported({ endpoints: endpoints({ address: "10.1.0.1" }) }),
      "secret/vault": exported({ endpoints: endpoints({ address: "10.1.0.2" }) }),
    },
    imports: { "shop/web": imported({ ips: ["10.9.0.1"] }) },
  }),
  snapshot("east", {
    exports: { "shop/web": exported({ endpoints: endpoints({ address: "10.2.0.1" }) }) },
    imports: { "shop/web": imported({ ips: ["10.9.0.2"] }) },
  }),
];
