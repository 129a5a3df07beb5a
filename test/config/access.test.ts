import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { isStated, KINDS, publicScope } from "../../src/config/access.ts";
import { readEdgeConfig } from "../../src/config/edge-config.ts";
import { UsageError } from "../../src/config/values.ts";
import { EVERYTHING } from "../../src/merge/visibility.ts";
import { configFiles } from "./config-files.ts";

const HASH = "0f".repeat(32);
const files = configFiles();
const read = (config: object, flags = {}) => files.read(JSON.stringify(config), flags);
const rule = (more: object) => ({ rules: [{ name: "one", ...more }] });
const bearer = { bearer: [{ tokenSha256: HASH }] };
const PUBLIC = { access: { public: true } };

describe("a gateway that other machines reach, without a statement about clients", () => {
  it.each([
    [{ listen: ":8443" }, "listen: other machines reach :8443"],
    [{ listen: "0.0.0.0:8443" }, "listen: "],
    [{ listen: "[::]:8443" }, "listen: "],
    [{ listen: "192.0.2.1:8443" }, "listen: "],
    [{ listen: "gateway.internal:8443" }, "listen: "],
    [{ dns: { listen: [":53"] } }, "dns.listen: other machines reach :53"],
    [{ dns: { listen: ["127.0.0.1:53", "10.0.0.1:53"] } }, "dns.listen: other machines reach 10.0.0.1:53"],
    [{ dot: { listen: ["[2001:db8::1]:853"] } }, "dot.listen: other machines reach [2001:db8::1]:853"],
    [{ publicUrl: "https://doh.example.org" }, "publicUrl: other machines reach https://doh.example.org"],
    [{ publicUrl: "https://[2001:db8::1]:8443" }, "publicUrl: "],
    [
      { clients: { trustedProxies: ["127.0.0.1"], header: "x-real-ip" } },
      "clients.trustedProxies: other machines reach the proxy 127.0.0.1",
    ],
    [{ listen: ":8443", access: { hostNames: ["doh.example.org"] } }, "listen: "],
  ])("%j is refused, and what to say is said", (config, expected) => {
    expect(() => read(config)).toThrow(UsageError);
    expect(() => read(config)).toThrow(expected);
    expect(() => read(config)).toThrow(/--public .*access\.public.*access\.rules.*docs\/how-to\/access\.md/);
  });

  it("counts for flags, too", () => {
    expect(() => read({}, { listen: ":8443" })).toThrow("other machines reach :8443");
    expect(() => read({}, { dot: [":853"] })).toThrow("other machines reach :853");
  });

  it.each([
    ["localhost:8443"],
    ["127.0.0.1:8443"],
    ["127.8.9.1:8443"],
    ["[::1]:8443"],
    ["[::ffff:127.0.0.1]:8443"],
  ])("%s is this machine alone", (listen) => {
    const { access } = read({ listen, dns: { listen: ["localhost:5353", "[::1]:5353"] } });
    expect([isStated(access), publicScope(access)]).toEqual([false, EVERYTHING]);
  });

  it.each([["https://localhost:8443"], ["https://127.0.0.1"], ["https://[::1]:8443"]])(
    "the public URL %s is this machine alone",
    (publicUrl) => expect(isStated(read({ publicUrl }).access)).toBe(false),
  );

  it.each([
    ["--public", {}, { public: true }, EVERYTHING],
    ["public: true", PUBLIC, {}, EVERYTHING],
    ["public: false, which only takes pushes", { access: { public: false } }, {}, undefined],
    [
      "a scope for all clients",
      { access: { public: { namespaces: ["shop"] } } },
      {},
      { namespaces: ["shop"] },
    ],
    ["rules, and no other clients", { access: rule(bearer) }, {}, undefined],
    [
      "--public over the file's choice",
      { access: { ...rule(bearer), public: false } },
      { public: true },
      EVERYTHING,
    ],
  ])("is allowed with %s", (_, config, flags, everybody) => {
    const { access } = read({ listen: ":8443", ...config }, flags);
    expect(publicScope(access)).toEqual(everybody);
  });
});

describe("rules", () => {
  it("have a scope, and files that count from the config file's folder", () => {
    const scope = {
      view: "west",
      namespaces: ["shop"],
      clusters: ["west", "east"],
      addressSources: ["LoadBalancer"],
      addressRanges: ["10.0.0.0/8"],
      targets: ["elb.example.net", "Example.ORG."],
    };
    const claims = { groups: ["platform"], tokenFile: "stays" };
    const given = (at: (name: string) => string) => ({
      scope,
      bearer: [{ tokenSha256: HASH }, { tokenFile: at("a.token") }],
      basic: [{ username: "ci", passwordFile: at("ci.password") }],
      pathTokens: [{ tokenFile: at("path.token") }],
      oidc: [{ issuer: "https://issuer.example", claims, jwksFile: at("jwks.json") }],
    });
    const { access } = read({ access: rule(given((name) => name)) });
    expect(access.rules).toMatchObject([given(files.at)]);
    expect(access.rules[0]!.oidc![0]!.audience).toBe("clusterset-doh");
  });

  it("are for listeners, too: those then need no credential", () => {
    const lan = rule({ scope: { view: "west" } });
    const place = { address: ":53", rule: "one" };
    expect(read({ access: lan, dns: { listen: [place] } }).dns.listen).toEqual([place]);
  });

  const ONE_SCOPE = "rules[0].scope.view: must be one of clusters";
  it.each([
    [rule({ ...bearer, name: "public" }), "access.rules[0].name: is the name of the public rule"],
    [
      { rules: [...rule(bearer).rules, ...rule(bearer).rules] },
      "access.rules[1].name: is the name of another",
    ],
    [rule({ bearer: [{}] }), "access.rules[0].bearer[0]: must have one of tokenSha256 and tokenFile"],
    [
      rule({ basic: [{ username: "a:b", passwordSha256: HASH }] }),
      "basic[0].username: must have neither a colon",
    ],
    [rule({ basic: [{ username: "a" }] }), "basic[0]: must have one of passwordSha256 and passwordFile"],
    [rule({ hostTokens: [{ tokenSha256: HASH }] }), "access.rules[0].hostTokens: needs hostNames"],
    [rule({ certificates: [{}] }), "certificates[0]: must have san or fingerprintSha256"],
    [rule({ oidc: [{ issuer: "a" }] }), "oidc[0]: must have one of jwks, jwksFile, jwksUri and discovery"],
    [rule({ addresses: ["10.0.0.1/8"] }), "addresses[0]: must be a range of addresses"],
    [rule({ ...bearer, scope: { view: "a", clusters: ["b"] } }), ONE_SCOPE],
    [{ public: { view: "a", clusters: ["b"] } }, "access.public.view: must be one of clusters"],
    [
      {
        rules: Array.from({ length: 33 }, (_, at) => ({
          name: `r${at}`,
          ...bearer,
          scope: { view: `v${at}` },
        })),
      },
      "access.rules: has 33 different scopes, and at most 32 can be kept",
    ],
  ])("%j is refused: %s", (access, expected) => {
    expect(() => read({ access })).toThrow(UsageError);
    expect(() => read({ access })).toThrow(expected);
  });

  it.each([
    [{ access: rule({}) }, "access.rules[0]: admits no client: give one of bearer, basic, pathTokens"],
    [
      { access: rule({ certificates: [{ san: "a" }] }) },
      "access.rules[0].certificates: need a trusted authority",
    ],
    [{ access: rule(bearer), dns: { listen: [":53"] } }, "dns.listen[0]: must have a rule"],
    [
      { access: rule(bearer), dot: { listen: [{ address: ":853", rule: "two" }] } },
      'no rule "two" in access.rules',
    ],
    [
      {
        access: rule({ scope: { view: "a" } }),
        dns: { listen: [{ address: ":53", rule: "one", view: "b" }] },
      },
      "dns.listen[0].view: is b, and clients there have the view a",
    ],
    [
      { access: { public: { clusters: ["a"] } }, dns: { listen: [{ address: ":53", view: "b" }] } },
      "dns.listen[0].view: the cluster b does not exist for clients there",
    ],
  ])("%j do not go together: %s", (config, expected) => {
    expect(() => read(config)).toThrow(UsageError);
    expect(() => read(config)).toThrow(expected);
  });
});

describe("in CONFIG", () => {
  it("there are neither files nor certificates", () => {
    const { access } = readEdgeConfig({ access: { public: false, ...rule(bearer) } });
    expect(access.rules[0]!.bearer).toEqual([{ tokenSha256: HASH }]);
    const refused = (more: object) => () => readEdgeConfig({ access: rule(more) });
    expect(refused({ bearer: [{ tokenFile: "a" }] })).toThrow(
      "CONFIG.access.rules[0].bearer[0].tokenFile: this key does not exist",
    );
    expect(refused({ certificates: [{ san: "a" }] })).toThrow(
      "CONFIG.access.rules[0].certificates: this key does not exist",
    );
    expect(refused({})).toThrow("CONFIG.access.rules[0]: admits no client");
  });
});

it("docs/how-to/access.md's rules are taken", () => {
  const page = readFileSync(new URL("../../docs/how-to/access.md", import.meta.url), "utf8");
  const [, text] = /## Rules.*?```yaml\n(.*?)```/s.exec(page)!;
  const { rules } = files.read(`${text}tls: { clientCaFile: ca.crt }\n`).access;
  expect(rules.flatMap((rule) => KINDS.filter((kind) => rule[kind] !== undefined)).sort()).toEqual(
    [...KINDS].sort(),
  );
});
