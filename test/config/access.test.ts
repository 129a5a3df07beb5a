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
  it.each<[object, string, object?]>([
    [{ listen: ":8443" }, "listen: other machines reach :8443"],
    [{ listen: "[::]:8443" }, "listen: "],
    [{ listen: "192.0.2.1:8443" }, "listen: "],
    [{ listen: "gateway.internal:8443" }, "listen: "],
    [{ dns: { listen: [":53"] } }, "dns.listen: other machines reach :53"],
    [{ dns: { listen: ["127.0.0.1:53", "10.0.0.1:53"] } }, "dns.listen: other machines reach 10.0.0.1:53"],
    [{ dot: { listen: ["[2001:db8::1]:853"] } }, "dot.listen: other machines reach [2001:db8::1]:853"],
    [{ publicUrl: "https://doh.example.org" }, "publicUrl: other machines reach https://doh.example.org"],
    [
      { clients: { trustedProxies: ["127.0.0.1"], header: "x-real-ip" } },
      "clients.trustedProxies: other machines reach the proxy 127.0.0.1",
    ],
    [{ listen: ":8443", access: { hostNames: ["doh.example.org"] } }, "listen: "],
    [{}, "other machines reach :8443", { listen: ":8443" }],
    [{}, "other machines reach :853", { dot: [":853"] }],
  ])("%j is refused, and what to say is said", (config, expected, flags) => {
    expect(() => read(config, flags)).toThrow(UsageError);
    expect(() => read(config, flags)).toThrow(expected);
    expect(() => read(config, flags)).toThrow(
      /--public .*access\.public.*access\.rules.*docs\/how-to\/access\.md/,
    );
  });

  it("is this machine alone at addresses and a public URL of loopback", () => {
    for (const listen of ["localhost:8443", "127.8.9.1:8443", "[::1]:8443", "[::ffff:127.0.0.1]:8443"])
      for (const publicUrl of ["https://localhost:8443", "https://[::1]:8443"]) {
        const { access } = read({ listen, publicUrl, dns: { listen: ["localhost:5353", "[::1]:5353"] } });
        expect([isStated(access), publicScope(access)]).toEqual([false, EVERYTHING]);
      }
  });

  it.each([
    ["--public", {}, { public: true }, EVERYTHING],
    ["public: true", PUBLIC, {}, EVERYTHING],
    ["public: false, which only takes pushes", { access: { public: false } }, {}, undefined],
    ["a scope for all clients", { access: { public: { clusters: ["a"] } } }, {}, { clusters: ["a"] }],
    ["rules, and no other clients", { access: rule(bearer) }, {}, undefined],
    ["--public over the file", { access: { ...rule(bearer), public: false } }, { public: true }, EVERYTHING],
  ])("is allowed with %s", (_, config, flags, everybody) => {
    expect(publicScope(read({ listen: ":8443", ...config }, flags).access)).toEqual(everybody);
  });
});

describe("rules", () => {
  it("have a scope, and files that count from the config file's folder", () => {
    const addresses = {
      addressSources: ["LoadBalancer"],
      addressRanges: ["10.0.0.0/8"],
      targets: ["Example.ORG."],
    };
    const scope = { view: "west", namespaces: ["shop"], clusters: ["west", "east"], ...addresses };
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
});

it("in CONFIG there are neither files nor certificates", () => {
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

it("docs/how-to/access.md's rules are taken", () => {
  const page = readFileSync(new URL("../../docs/how-to/access.md", import.meta.url), "utf8");
  const [, text] = /## Rules.*?```yaml\n(.*?)```/s.exec(page)!;
  const { rules } = files.read(`${text}tls: { clientCaFile: ca.crt }\n`).access;
  expect(rules.flatMap((rule) => KINDS.filter((kind) => rule[kind] !== undefined)).sort()).toEqual(
    [...KINDS].sort(),
  );
});
