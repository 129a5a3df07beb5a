import { describe, expect, it } from "vitest";
import { parseListenAddress, UsageError } from "../../src/config/values.ts";
import { readServeConfig } from "../../src/hosts/node/config.ts";
import { configFiles } from "./config-files.ts";

const { at, complaint } = configFiles();

const HASH = "0f".repeat(32);
const located = (rules: string) =>
  `location: { source: headers, headers: { country: a }, trustedProxies: [10.0.0.1], rules: ${rules} }`;
/** One access rule, with a bearer token or with what is given. */
const ruled = (more = `bearer: [{ tokenSha256: ${HASH} }]`) => `access: { rules: [{ name: one, ${more} }] }`;
const scoped = Array.from({ length: 33 }, (_, at) => `{ name: r${at}, scope: { view: v${at} } }`);

describe("a mistake in the config file is reported with its key and the next step", () => {
  it.each<readonly [string, string]>([
    [
      "access: { public: yes }",
      "public: must be true, false, or a scope: yes is text in YAML 1.2, write true",
    ],
    ["tls: off", "the files of a certificate: off is text in YAML 1.2, write false"],
    [
      "access: { public: { cluster: [] } }",
      "access.public.cluster: this key does not exist: did you mean clusters?",
    ],
    ["limits: { isolateBytes: 2000000 }", "isolateBytes: this key does not exist here, only in CONFIG"],
    ["pages: { on: true }", "pages.on: this key does not exist: the keys here are enabled"],
    ["cacheSize: 5", "cacheSize: this key does not exist: docs/reference/configuration.md has all keys"],
    ["- a\n- b\n", "gateway.yaml:1: a config file holds keys"],
    ["a: [\n", "gateway.yaml:"],
    ["a: 1\na: 2\n", "gateway.yaml:2: "],
    ["zones:\n- *.example\n", "gateway.yaml:2: this is not valid YAML: Unresolved alias"],
    [
      `a: &a [x]\nb: &b [${"*a, ".repeat(11)}]\nc: [${"*b, ".repeat(11)}]`,
      "gateway.yaml:1: this is not valid YAML: Excessive alias count",
    ],

    ["listen: '8443'", 'listen: "8443" is not an address to listen on'],
    ["dns: { listen: [dns.example.org:53] }", "dns.listen[0].address: must be an IP address and a port"],
    ["tls: false\ndot: { listen: [':853'] }", "dot.listen (--dot): DNS over TLS needs a certificate"],
    ["tls: { keyFile: a }", "tls: "],
    ["publicUrl: http://doh.example.org", "publicUrl: must be https://HOST or https://HOST:PORT"],
    ["publicUrl: https://a@doh.example.org", "publicUrl: must be https://HOST or https://HOST:PORT"],
    ["cors: { origins: ['https://app.example.org/'] }", "cors.origins[0]: must be a web origin"],
    ["cors: { origins: ['https://app.example.org:443'] }", "cors.origins[0]: must be a web origin"],
    ["zones: [a.example, not a zone]", "zones[1]: must be a domain name"],
    ["lease: { minimumSeconds: 100 }", "lease: must have minimumSeconds <= defaultSeconds"],
    [
      "push: { credentials: [{ clusterId: a }] }",
      "must have one of tokenSha256, tokenFile, oidc and certificate",
    ],

    ["stub: { serverMilliseconds: 9000 }", "stub: must have serverMilliseconds <= total"],
    ["stub: { upstreams: [{ origin: 'http://dns.example' }] }", "stub.upstreams[0].origin: "],
    ["stub: { upstreams: [{ origin: 'https://dns.example/dns-query' }] }", "stub.upstreams[0].origin: "],
    ["federations: [{ name: a, zone: clusterset.local }]", "cannot be both a zone of the clusterset and"],
    ["federations: [{ name: a, zone: f.test }, { name: b, domain: F.test. }]", "f.test cannot be both"],
    ["federations: [{ name: a }, { name: a }]", "the federation a is configured twice"],

    [located("[{ when: {}, region: eu }]"), "rules[0].when: must have at least one of country"],
    [located("[{ when: { country: [Swiss] }, region: eu }]"), "country[0]: must be a country of two"],
    [located("[{ view: a, region: eu }]"), "rules[0]: must have one of view (a cluster id) and region"],
    [located("[{ view: a, zone: eu-1 }]"), "location.rules[0]: must have the region that the zone is in"],
    [located("[{ region: eu }, { region: us }]"), "rules[1]: is never reached: rules[0] has no `when`"],
    [
      located(
        `[${Array.from({ length: 51 }, (_, index) => `{ when: { colo: [ZRH] }, region: r${index} }`)}]`,
      ),
      "location.rules: must name at most 50 different regions and zones",
    ],
    ["location: { source: cf, rules: [{ region: eu }] }", "source: cf is what Cloudflare tells a Worker"],
    [located("[{ region: eu }]").replace("country: a", ""), "headers: must have at least one of"],

    ["store: {}", "store: must have one of url, sentinel and cluster"],
    ["store: { url: valkey:6379 }", "store.url: must be redis://HOST"],
    ["store: { url: 'redis://' }", "store.url: must be redis://HOST"],
    ["store: { url: redis://valkey/first }", "store.url: must be redis://HOST"],
    ["store: { url: 'redis://valkey/0?protocol=3' }", "store.url: must be redis://HOST"],
    [
      "store: { url: redis://valkey, certificateFile: a }",
      "store: must have both of certificateFile and keyFile",
    ],
    ["store: { url: redis://valkey, prefix: '{a}' }", "store.prefix: must be 1 to 64 letters"],
    ["store: { cluster: { nodes: [node-0:x] } }", "store.cluster.nodes[0]: must be HOST or HOST:PORT"],
    ["store: { cluster: { nodes: [user@node-0] } }", "store.cluster.nodes[0]: must be HOST or HOST:PORT"],
    ["store: { sentinel: { name: a, nodes: [s/0] } }", "store.sentinel.nodes[0]: must be HOST or HOST:PORT"],

    ["outsideZones: forward", "outsideZones: forward needs upstreams: set forward.upstreams"],
    ["paths: [{ path: /a, outsideZones: forward }]", "paths[0].outsideZones: forward needs"],
    ["dns: { listen: [{ address: ':53', outsideZones: forward }] }", "listen[0].outsideZones: forward needs"],
    ["paths: [{ path: '/a/:b', outsideZones: refuse }]", "paths[0].path: must be a path of letters"],
    ["paths: [{ path: /api/x, outsideZones: refuse }]", "paths[0].path: is in use for something else"],
    ["paths: [{ path: /clusters/a, outsideZones: refuse }]", "path: must be /clusters or /resolve itself"],
    [
      "paths: [{ path: /a, outsideZones: refuse }, { path: /a, outsideZones: nxdomain }]",
      "must not have a path twice",
    ],
    ["forward: { upstreams: [dns.example] }", "forward.upstreams[0].server: must be an IP address"],
    [
      "forward: { upstreams: [https://a.example/1, https://a.example/2] }",
      "must have upstreams with different names",
    ],
    ["forward: { serverMilliseconds: 9000 }", "forward: must have serverMilliseconds <= total"],
    [
      "forward: { cache: { minimumTtlSeconds: 600, maximumTtlSeconds: 60 } }",
      "forward.cache: must have minimumTtl",
    ],

    [ruled().replace("one", "public"), "access.rules[0].name: is the name of the public rule"],
    ["access: { rules: [{ name: one }, { name: one }] }", "access.rules[1].name: is the name of another"],
    [`access: { rules: [${scoped}] }`, "access.rules: has 33 different scopes, and at most 32 can be kept"],
    [ruled("bearer: [{}]"), "access.rules[0].bearer[0]: must have one of tokenSha256 and tokenFile"],
    [ruled("basic: [{ username: 'a:b', passwordFile: a }]"), "basic[0].username: must have neither a colon"],
    [ruled("basic: [{ username: a }]"), "basic[0]: must have one of passwordSha256 and passwordFile"],
    [ruled("hostTokens: [{ tokenFile: a }]"), "access.rules[0].hostTokens: needs hostNames"],
    [ruled("certificates: [{}]"), "certificates[0]: must have san or fingerprintSha256"],
    [ruled("certificates: [{ san: a }]"), "access.rules[0].certificates: need a trusted authority"],
    [ruled("oidc: [{ issuer: a }]"), "oidc[0]: must have one of jwks, jwksFile, jwksUri and discovery"],
    [ruled("oidc: [{ issuer: a, audience: a, jwksUri: keys }]"), "oidc[0].jwksUri: must be an https URL"],
    [ruled("addresses: [10.0.0.1/8]"), "addresses[0]: must be a range of addresses"],
    [ruled("scope: {}"), "access.rules[0]: admits no client: give one of bearer, basic, pathTokens"],
    [ruled("scope: { view: a, clusters: [b] }"), "rules[0].scope.view: must be one of clusters"],
    ["access: { public: { view: a, clusters: [b] } }", "access.public.view: must be one of clusters"],
    [`${ruled()}\ndns: { listen: [":53"] }`, "dns.listen[0]: must have a rule"],
    [`${ruled()}\ndot: { listen: [{ address: ":853", rule: two }] }`, 'no rule "two" in access.rules'],
    [
      `${ruled("scope: { view: a }")}\ndns: { listen: [{ address: ":53", rule: one, view: b }] }`,
      "dns.listen[0].view: is b, and clients there have the view a",
    ],
    [
      "access: { public: { clusters: [a] } }\ndns: { listen: [{ address: ':53', view: b }] }",
      "dns.listen[0].view: the cluster b does not exist for clients there",
    ],
  ])("%j", (text, expected) => {
    expect(complaint(text)).toContain(expected);
  });

  it("lists them in the order of lines, whatever is wrong with each", () => {
    const lines = complaint(
      "lisen: x\npush:\n  credentals: []\n  credentials: [{ clusterId: UPPER, tokenFile: a }]\nzone: []\naccess: { public: yes }\n",
    ).split("\n");
    expect(lines.map((line) => /^gateway\.yaml:(\d+): ([^:]+):/.exec(line)?.slice(1))).toEqual([
      ["1", "lisen"],
      ["3", "push.credentals"],
      ["4", "push.credentials[0].clusterId"],
      ["5", "zone"],
      ["6", "access.public"],
    ]);
  });
});

it.each([
  [{ threads: "257" }, '--threads "257" must be auto or a number from 0 to 256'],
  [{ threads: "1.5" }, '--threads "1.5" must be auto or a number from 0 to 256'],
  [
    { clusterToken: ["cluster A=a.token"] },
    '"cluster A" is not a cluster id: lower-case letters, digits and hyphens',
  ],
  [{ clusterToken: ["=a.token"] }, '"" is not a cluster id'],
  [{ clusterToken: ["cluster-a"] }, '"cluster-a" is not CLUSTER_ID=FILE, such as cluster-a=cluster-a.token'],
  [{ zone: ["not a zone"] }, "--zone"],
  [{ tlsCert: "x" }, "--tls-cert and --tls-key go together"],
  [{ tls: false, tlsCert: "x", tlsKey: "y" }, "--no-tls and --tls-cert exclude each other"],
  [{ federation: ["My.Federation"] }, '--federation "My.Federation" must be one label'],
  [{ tls: false, clientCaFile: "x" }, "--client-ca-file needs TLS"],
  [{ dns: ["dns.example.org:53"] }, '--dns "dns.example.org:53" must be an IP address and a port'],
  [{ dot: [":853"], tls: false }, "dot.listen (--dot): DNS over TLS needs a certificate"],
  [{ publicUrl: "foo" }, /^publicUrl: must be .*$/],
  [{ config: at("none.yaml") }, "cannot read the config file"],
])("a mistake in a flag is reported with the next step: %j", (flags, expected) => {
  expect(() => readServeConfig(flags)).toThrow(expected);
});

it.each(["", "localhost", "8443", ":65536", "::1:443", "http://a:1", "[a]:x"])("%j is no address", (text) => {
  expect(() => parseListenAddress(text)).toThrow(UsageError);
});
