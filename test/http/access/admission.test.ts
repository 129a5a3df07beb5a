import { describe, expect, it } from "vitest";
import type { AllowedOrigins } from "../../../src/http/messages/message.ts";
import { ClientRate } from "../../../src/limits/client-rate.ts";
import { EVERYTHING, type Visibility } from "../../../src/merge/visibility.ts";
import { endpoints, exported, imported, snapshot } from "../../merge/fixtures.ts";
import { base64url, query } from "../fake-gateway.ts";
import { readPage } from "../pages/read-page.ts";
import { accessWorld, FEW, KINDS, RULES, type Shown, ZONE } from "./access-world.ts";

const WEB = `web.shop.svc.${ZONE}`;
const MESSAGE = "application/dns-message";
const dns = (name: string) => `/dns-query?dns=${base64url(query(name))}`;
const json = (name: string) => `/resolve?name=${name}&type=A`;
const post = (name: string): RequestInit => ({
  method: "POST",
  headers: { "content-type": MESSAGE },
  body: query(name),
});

const VAULT = `vault.secret.svc.${ZONE}`;

type World = Awaited<ReturnType<typeof accessWorld>>;

/** The addresses of a name as somebody gets them; a status other than 200 instead. */
async function addresses({ ask }: World, shown: Shown, name = WEB): Promise<readonly string[] | number> {
  const response = await ask(json(name), shown);
  if (response.status !== 200) return response.status;
  const { Answer = [] } = (await response.json()) as { Answer?: { data: string }[] };
  return Answer.map(({ data }) => data).sort();
}

/** Everything that a client sees of a response. */
async function seen(response: Response) {
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: Buffer.from(await response.arrayBuffer()).toString("hex"),
  };
}

const EVERY_PATH: readonly (readonly [string, string, RequestInit?])[] = [
  ["GET", dns(WEB)],
  ["HEAD", dns(WEB), { method: "HEAD" }],
  ["POST", "/dns-query", post(WEB)],
  ["JSON at /dns-query", `/dns-query?name=${WEB}`, { headers: { accept: "application/dns-json" } }],
  ["JSON at /resolve", json(WEB)],
  ["a cluster's view", `/clusters/west${dns(WEB)}`],
  ["an explanation", `/explain?name=${WEB}`],
  ["a cluster's view in JSON", `/clusters/west${json(WEB)}`],
  ["the status", "/status"],
  ["the page /", "/"],
  ["the page of a service", "/services/shop/web"],
  ["the page of a cluster", "/clusters/west"],
  ["the page /setup", "/setup"],
  ["a file of /setup", "/setup/curl/curl.sh"],
];

describe("a gateway without a public rule", () => {
  it.each(KINDS)("%s are answered in their scope, and counted", async (rule, known) => {
    const world = await accessWorld();
    expect(await addresses(world, known)).toEqual(["10.9.0.1"]);
    expect(await addresses(world, known, VAULT)).toEqual([]);
    expect(await addresses(world, { authorization: "Bearer admin" }, VAULT)).toEqual(["10.1.0.2"]);
    expect([world.access.admitted.get(rule), world.errors]).toEqual([2, []]);
  });

  it.each(KINDS)("what is unknown beside %s gets the same rejection everywhere", async (_, __, unknown) => {
    const { ask, access } = await accessWorld();
    const refusals = new Set<string>();
    for (const [what, path, init] of EVERY_PATH) {
      const response = await ask(path, unknown, init);
      expect([what, [401, 403].includes(response.status)]).toEqual([what, true]);
      expect(response.headers.get("cache-control")).toBe("no-store");
      refusals.add(`${response.status} ${response.headers.get("www-authenticate")}`);
    }
    expect(refusals.size).toBe(1);
    expect(access.admitted.size).toBe(0);
  });

  it("no route answers a client without a credential, except for the public ones", async () => {
    const { app, ask } = await accessWorld();
    const OPEN = ["/healthz", "/readyz"];
    expect(app.routes.length).toBeGreaterThan(14);
    // The form for a token answers everybody, and shows nothing.
    for (const { method, path } of app.routes.filter((route) => !route.path.startsWith("/log"))) {
      const asked = path.replace(":clusterId", "west").replace(":client", "curl").replace(":file", "curl.sh");
      const response = await ask(asked, {}, { method: method === "ALL" ? "GET" : method });
      expect([path, response.status]).toEqual([path, OPEN.includes(path) ? 200 : 401]);
    }
  });
  it("a hidden cluster is what was never there", async () => {
    const { ask } = await accessWorld();
    const shown = { authorization: "Bearer laptop" };
    for (const path of [dns(WEB), json(WEB)]) {
      const response = await seen(await ask(`/clusters/east${path}`, shown));
      expect(response).toEqual(await seen(await ask(`/clusters/none${path}`, shown)));
      expect(response.status).toBe(404);
    }
  });
});

it.each([
  ["no other client gets answers", undefined],
  ["everybody may", EVERYTHING],
  ["all clients see a part", FEW],
])("an unknown token in path or host is any other path or host, where %s", async (_, everybody) => {
  // Two of them, since every answer has its records in another order.
  const [one, other] = [await accessWorld({ everybody }), await accessWorld({ everybody })];
  for (const rest of [dns(WEB), json(WEB), `/clusters/west${dns(WEB)}`, "/", "/metrics", "/healthz"])
    for (const init of [{}, { method: "OPTIONS" }, post(WEB)]) {
      const unknown = await seen(await one.ask(`/tokens/other${rest}`, {}, init));
      expect(unknown).toEqual(await seen(await other.ask(`/tokenz/other${rest}`, {}, init)));
      expect(unknown.status).toBe(everybody === undefined ? 401 : 404);
    }
  for (const [, path, init] of EVERY_PATH) {
    const asked = async ({ ask }: World, host: string) => {
      const response = await seen(await ask(path, { host }, init));
      return { ...response, body: response.body.replaceAll(Buffer.from(host).toString("hex"), "<host>") };
    };
    const token = await asked(one, "other.doh.example");
    const name = await asked(other, "nothing.example.org");
    if (path.startsWith("/setup")) expect(token.status).toBe(name.status);
    else expect(token).toEqual(name);
  }
});

it("beside a public rule a token of a cluster that pushes decides the view, and an unknown one is 401", async () => {
  const world = await accessWorld({ everybody: EVERYTHING });
  expect(await addresses(world, { authorization: "Bearer push-east" })).toEqual(["10.9.0.2"]);
  expect(await addresses(world, { authorization: "Bearer other" })).toBe(401);
  const restricted = await accessWorld();
  expect(await addresses(restricted, { authorization: "Bearer push-east" })).toBe(401);
});

describe("what caches may keep (RFC 9111)", () => {
  const ofKinds = (...names: string[]) => RULES.filter(({ name }) => names.includes(name));
  const [HEADERS, URLS, UNSEEN] = [
    ofKinds("laptops", "scripts"),
    ofKinds("phones", "coredns"),
    ofKinds("office"),
  ];
  const [SHARED, PRIVATE, BY_TOKEN] = ["max-age=5", "private, max-age=5", "authorization"];
  const laptop = { authorization: "Bearer laptop" };

  it.each<[string, typeof RULES, Shown, string, string | null]>([
    ["everybody's, beside rules by Authorization", HEADERS, {}, SHARED, BY_TOKEN],
    ["everybody's, beside rules by URL", URLS, {}, SHARED, null],
    ["everybody's, beside rules by address", UNSEEN, {}, PRIVATE, null],
    ["everybody's, beside all of them", [...HEADERS, ...URLS, ...UNSEEN], {}, PRIVATE, BY_TOKEN],
    ["a rule's by Authorization", HEADERS, laptop, PRIVATE, BY_TOKEN],
    ["a rule's by path", URLS, { prefix: "/tokens/phone" }, PRIVATE, null],
    ["a rule's by host", URLS, { host: "resolver.doh.example" }, PRIVATE, null],
    ["a rule's by address", UNSEEN, { client: { address: "192.0.2.7" } }, PRIVATE, null],
  ])("%s", async (_, rules, shown, cacheControl, vary) => {
    const { ask } = await accessWorld({ everybody: EVERYTHING, rules });
    for (const path of [dns(WEB), `/clusters/west${dns(WEB)}`, dns(`none.shop.svc.${ZONE}`)]) {
      const { headers } = await ask(path, shown);
      // Everybody's own audience looks at the tokens of clusters that push, but for the path's view.
      const isByToken = vary === null && Object.keys(shown).length === 0 && !path.startsWith("/clusters");
      expect([path, headers.get("cache-control"), headers.get("vary")]).toEqual([
        path,
        cacheControl,
        isByToken ? "authorization" : vary,
      ]);
    }
    expect((await ask(json(WEB), shown)).headers.get("cache-control")).toBe(cacheControl);
  });
});

describe("a script of another origin (Fetch standard, section 4.8)", () => {
  const origin = "https://app.example";

  it.each([["*" as const], [[origin]]])(
    "of %j sends a preflight without a credential, as for no cluster",
    async (allowed) => {
      const isListed = allowed !== "*";
      const { ask, access } = await accessWorld({
        allowedOrigins: allowed,
        everybody: isListed ? undefined : FEW,
      });
      const preflight = async (path: string) =>
        seen(await ask(path, {}, { method: "OPTIONS", headers: { origin } }));
      for (const path of ["/dns-query", "/resolve"]) {
        const { status, headers } = await preflight(path);
        expect([path, status]).toEqual([path, 204]);
        expect(headers["access-control-allow-headers"]).toMatch(/\bauthorization\b/);
        expect(headers["access-control-allow-origin"]).toBe(isListed ? origin : "*");
        expect(headers).not.toHaveProperty("access-control-allow-credentials");
        for (const id of ["west", "east", "none"])
          expect(await preflight(`/clusters/${id}${path}`)).toEqual(await preflight(path));
      }
      expect([...access.admitted, ...access.rejected]).toEqual([]);
      if (!isListed) return;
      const refused = await ask(dns(WEB), {}, { headers: { origin } });
      expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, origin]);
    },
  );

  it.each(KINDS)("reads what rule %s admits to where it is listed, and nothing by *", async (_, known) => {
    const paths = [dns(WEB), json(WEB), "/dns-query", "/clusters/west/dns-query", "/clusters/none/resolve"];
    const readers = async (allowedOrigins: AllowedOrigins, shown: Shown, everybody?: Visibility) => {
      const { ask } = await accessWorld({ allowedOrigins, everybody });
      const responses = await Promise.all(paths.map((path) => ask(path, shown, { headers: { origin } })));
      return new Set(responses.map(({ headers }) => headers.get("access-control-allow-origin")));
    };
    expect(await readers("*", known, FEW)).toEqual(new Set([null]));
    expect(await readers("*", {}, FEW)).toEqual(new Set(["*"]));
    expect(await readers([origin], known)).toEqual(new Set([origin]));
    expect(await readers(["https://other.example"], known)).toEqual(new Set([null]));
  });
});

it("a refusal names the required credentials", async () => {
  const { ask } = await accessWorld();
  const text = await ask(dns(WEB), {}, { headers: { accept: MESSAGE } });
  expect([text.status, await text.text()]).toEqual([
    401,
    "this gateway answers known clients only: an Authorization field with a bearer token, or a user name and password is required\n",
  ]);
  const certificates = await accessWorld({ rules: RULES.filter(({ name }) => name === "pods") });
  expect((await certificates.ask(dns(WEB))).status).toBe(403);
});

describe("health and metrics", () => {
  it("read no credential of a client above its rate, so that none is guessed by /readyz", async () => {
    const network = { exempt: [], ipv4PrefixBits: 32, ipv6PrefixBits: 64, mostClients: 10 };
    const rate = new ClientRate({ ...network, perSecond: 1, burst: 2 }, () => 0);
    const { ask } = await accessWorld({ rate });
    const admin = { authorization: "Bearer admin", client: { address: "192.0.2.99" } };
    for (const text of [
      "ready: 2 of 2 clusters live\n",
      "ready: 2 of 2 clusters live\n",
      "ready\n",
      "ready\n",
    ]) {
      const response = await ask("/readyz", admin);
      expect([response.status, await response.text()]).toEqual([200, text]);
    }
  });

  it("have counts for clients who see everything alone", async () => {
    const { ask } = await accessWorld({ everybody: FEW });
    const admin = { authorization: "Bearer admin" };
    const few = { authorization: "Bearer laptop" };
    expect(await (await ask("/readyz", few)).text()).toBe("ready\n");
    expect(await (await ask("/readyz", admin)).text()).toBe("ready: 2 of 2 clusters live\n");
    expect(await (await ask("/metrics", admin)).text()).toBe("all_metrics 1\n");
    expect(await seen(await ask("/metrics", few))).toEqual(await seen(await ask("/metricz", few)));
    expect((await ask("/metrics")).status).toBe(404);
    const restricted = await accessWorld();
    expect(await (await restricted.ask("/metrics", { prefix: "/tokens/admin" })).text()).toBe(
      "all_metrics 1\n",
    );
  });
});

describe("pages", () => {
  it("are missing for a service or a cluster that the client may not see, as for one that does not exist", async () => {
    const { ask } = await accessWorld();
    const few = { authorization: "Bearer laptop" };
    for (const [hidden, none] of [
      ["/services/secret/vault", "/services/sacred/stone"],
      ["/services/shop/web?view=east", "/services/shop/web?view=last"],
      ["/clusters/east", "/clusters/last"],
    ] as const) {
      expect((await ask(hidden, { authorization: "Bearer admin" })).status, hidden).toBe(200);
      const pages = [await ask(hidden, few), await ask(none, few)];
      const [one, other] = await Promise.all(pages.map((page) => readPage(page)));
      expect(one!.status, hidden).toBe(404);
      const named = (text: string) =>
        text.replaceAll("sacred", "secret").replaceAll("stone", "vault").replaceAll("last", "east");
      expect(named(one!.html)).toBe(named(other!.html));
    }
  });

  it("show a rule with a view what that cluster sees", async () => {
    const hidden = exported({ endpoints: endpoints({ address: "10.2.0.2" }), clusters: [] });
    const reported = [
      snapshot("west", {
        exports: { "shop/db": exported({ endpoints: endpoints({ address: "10.1.0.1" }), headless: true }) },
        imports: { "shop/web": imported({ ips: ["10.9.0.1"] }) },
      }),
      snapshot("east", {
        namespaces: { shop: {}, distant: {} },
        exports: {
          "shop/web": exported({ endpoints: endpoints({ address: "10.2.0.1" }) }),
          "shop/db": hidden,
          "shop/sealed": hidden,
          "distant/only": exported({ endpoints: endpoints({ address: "10.2.0.3" }) }),
        },
        imports: { "shop/web": imported({ ips: ["10.9.0.2"] }) },
      }),
    ];
    const { ask } = await accessWorld({ reported });
    const pageOf = async (path: string, token: string) =>
      (await readPage(await ask(path, { authorization: `Bearer ${token}` }))).text;
    for (const path of ["/services", "/"]) {
      expect(await pageOf(path, "of-west"), path).toContain("10.9.0.1");
      expect(await pageOf(path, "of-west"), path).not.toMatch(/10\.9\.0\.2|sealed|distant|10\.2\.0\.2/);
    }
    expect(await pageOf("/clusters/east", "of-west")).not.toMatch(/sealed|distant|\bdb\b/);
    expect(await pageOf("/conflicts", "of-west")).not.toMatch(/east|disagree/);
    const status = await ask("/status", { authorization: "Bearer of-west" });
    expect(await status.json()).toMatchObject({ conflicts: { total: 0 }, findings: { total: 0 } });
    expect(await pageOf("/services", "admin")).toMatch(/distant.*sealed/s);
    expect(await pageOf("/clusters/east", "admin")).toMatch(/sealed/);
    expect(await pageOf("/conflicts", "admin")).toMatch(/east/);
  });

  it("keep the token of their path in every link", async () => {
    const { ask } = await accessWorld();
    const phone = { prefix: "/tokens/phone" };
    const lists = ["/", `/?name=${WEB}&type=A`, "/services?q=web", "/clusters", "/conflicts", "/setup"];
    for (const path of [...lists, "/services/shop/web", "/clusters/west"]) {
      const { links, status } = await readPage(await ask(path, phone));
      expect([path, status]).toEqual([path, 200]);
      const own = links.filter((link) => link.startsWith("/"));
      expect(own.length).toBeGreaterThan(4);
      for (const link of own) {
        expect(link).toMatch(/^\/tokens\/phone\//);
        expect([link, (await ask(link)).status]).toEqual([link, 200]);
      }
    }
  });

  it("make files with the token of the request", async () => {
    const { ask } = await accessWorld();
    const phone = { prefix: "/tokens/phone" };
    for (const [name, shown, text] of [
      ["curl/curl.sh", phone, "https://gateway.example/tokens/phone/dns-query"],
      ["dig/dig.sh", phone, "+https=/tokens/phone/dns-query @gateway.example"],
      ["coredns/Corefile", { host: "resolver.doh.example" }, "tls_servername resolver.doh.example"],
      ["coredns/Corefile", phone, "CoreDNS cannot set a path"],
    ] as const)
      expect(await (await ask(`/setup/${name}`, shown)).text()).toContain(text);
  });
});
