import { describe, expect, test } from "vitest";
import { fetchUpstreams } from "../../src/assembly/out-of-zone.ts";
import { readAllPushCredentials, readEdgeConfig, readPushCredentials } from "../../src/config/edge-config.ts";
import { UsageError } from "../../src/config/values.ts";

const HASH = "a".repeat(64);
const OTHER = "b".repeat(64);

/** What somebody reads whose configuration is wrong. */
function complaint(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as Error).message;
  }
  throw new Error("it was taken");
}

describe("the variable CONFIG", () => {
  test("is optional, a JSON value or its text, and clusterset.local is always served", () => {
    const defaults = readEdgeConfig(undefined);
    expect(defaults).toMatchObject({ zones: ["clusterset.local"], outsideZones: "refuse", ttlSeconds: 5 });
    expect(readEdgeConfig({})).toEqual(defaults);
    const config = { zones: ["clusterset.test"], limits: { clusters: 3 } };
    expect(readEdgeConfig(config).zones).toEqual(["clusterset.local", "clusterset.test"]);
    expect(readEdgeConfig(JSON.stringify(config))).toEqual(readEdgeConfig(config));
  });

  test("has upstreams by DNS over HTTPS alone", () => {
    const config = readEdgeConfig({
      outsideZones: "forward",
      forward: {
        upstreams: [
          "https://dns.example.net/dns-query",
          { server: "https://dns.example.org/", name: "second" },
        ],
      },
    });
    expect(fetchUpstreams(config.forward).map(({ nameserver }) => nameserver)).toEqual([
      "dns.example.net",
      "second",
    ]);
  });

  test("has bounds that fit into an object", () => {
    const { limits } = readEdgeConfig(undefined);
    expect(limits).toMatchObject({ snapshotCharacters: 2 ** 24, pushBytes: 2 ** 24 });
  });

  test.each([
    [{ zone: ["a.test"] }, "CONFIG.zone: this key does not exist: did you mean zones?"],
    [
      { listen: "localhost:8443" },
      "CONFIG.listen: this key does not exist here, only for clusterset-doh serve: this host has no sockets",
    ],
    [
      { audit: { logFile: "a" } },
      "CONFIG.audit.logFile: this key does not exist here, only for clusterset-doh",
    ],
    [
      { access: { rules: [{ name: "a", oidc: [{ issuer: "a" }] }] } },
      "CONFIG.access.rules[0].oidc[0]: must have one of jwks, jwksUri and discovery",
    ],
    [{ outsideZones: "forward" }, "CONFIG.outsideZones: forward needs upstreams"],
    [
      { forward: { upstreams: ["192.0.2.53"] } },
      "CONFIG.forward.upstreams[0].server: must be an https:// URL",
    ],
    [
      { forward: { upstreams: [{ server: "https://a.example/", caFile: "x" }] } },
      "CONFIG.forward.upstreams[0].caFile: this key does not exist",
    ],
    [[], "CONFIG: Invalid input: expected object, received array"],
    ["{zones", "CONFIG: is not JSON"],
  ])("%j is refused: %s", (config, message) => {
    expect(complaint(() => readEdgeConfig(config))).toContain(message);
  });

  test("every wrong key is named", () => {
    expect(complaint(() => readEdgeConfig({ zone: [], ttlSeconds: -1 })).split("\n")).toHaveLength(2);
  });
});

describe("the secret PUSH_CREDENTIALS", () => {
  test("is a list, or hashes by cluster id; none where it is not set", () => {
    const list = [
      { clusterId: "west", tokenSha256: HASH },
      { clusterId: "west", tokenSha256: OTHER },
      { clusterId: "east", tokenSha256: HASH },
    ];
    expect(readPushCredentials(JSON.stringify(list))).toEqual(list);
    expect(readPushCredentials(JSON.stringify({ west: [HASH, OTHER], east: HASH }))).toEqual(list);
    expect(readPushCredentials(undefined)).toEqual([]);
  });

  test.each([
    ['{"west": "secret-token"}', "PUSH_CREDENTIALS[0].tokenSha256: must be 64 hex digits"],
    ['{"Secret-token": "west"}', "PUSH_CREDENTIALS[0].clusterId: must be one RFC 1123 label"],
    [
      '[{"clusterId": "west", "token": "secret-token"}]',
      "PUSH_CREDENTIALS[0].token: this key does not exist",
    ],
    ['"secret-token"', "PUSH_CREDENTIALS: Invalid input: expected array"],
    ["secret-token", "PUSH_CREDENTIALS: is not JSON"],
  ])("%s is refused without being repeated", (secret, message) => {
    const said = complaint(() => readPushCredentials(secret));
    expect(said).toContain(message);
    expect(said).not.toMatch(/secret-token/i);
  });

  test("may be in several variables, each of which is named when it is wrong", () => {
    const environment = {
      CLUSTERSET: {},
      PUSH_CREDENTIALS: JSON.stringify({ west: HASH }),
      PUSH_CREDENTIALS_2: JSON.stringify([{ clusterId: "east", tokenSha256: OTHER }]),
      OTHER_PUSH_CREDENTIALS: "not read",
    };
    expect(readAllPushCredentials(environment)).toEqual([
      { clusterId: "west", tokenSha256: HASH },
      { clusterId: "east", tokenSha256: OTHER },
    ]);
    const wrong = { ...environment, PUSH_CREDENTIALS_2: "{" };
    expect(complaint(() => readAllPushCredentials(wrong))).toBe(
      "PUSH_CREDENTIALS_2: is not JSON: names and texts are in double quotes, and nothing follows the last brace",
    );
  });
});
