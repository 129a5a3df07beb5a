import { describe, expect, it } from "vitest";
import { createAuthority } from "../../src/access/authority.ts";
import type { AccessRejection, ClientCertificate } from "../../src/access/client.ts";
import { secretsOf, sha256 } from "./authorities.ts";

const PIN = "ab".repeat(32);
const identity = (uris: readonly string[], fingerprintSha256 = "cd".repeat(32)) => ({
  fingerprintSha256,
  commonName: undefined,
  uris,
  dnsNames: [],
});
const verified = (...uris: string[]): ClientCertificate => ({
  certificate: "verified",
  certificateIdentity: identity(uris),
});

const secrets = secretsOf([{ clusterId: "east", tokenSha256: sha256("one") }]);
const certificates = [
  { san: "spiffe://x/east", holder: { credential: "east-cert", clusterId: "east" } },
  { san: "spiffe://x/west", holder: { credential: "west-cert", clusterId: "west" } },
  { fingerprintSha256: PIN, holder: { credential: "pinned", clusterId: "north" } },
];
const authority = createAuthority({ secrets, certificates });
const NO_TOKEN = "the request has no bearer token";
const NEITHER = `${NO_TOKEN} and no client certificate: send a token in an Authorization field, or a certificate`;

const identify = async (shown: ClientCertificate | undefined, authorization?: string) =>
  [...(await authority.identify(authorization, shown))].map(({ credential }) => credential);

describe("a client certificate", () => {
  it("has the holders whose pattern fits", async () => {
    expect(await identify(verified("spiffe://x/east"))).toEqual(["east-cert"]);
    expect(await identify(verified("spiffe://x/west", "spiffe://x/east"))).toEqual([
      "east-cert",
      "west-cert",
    ]);
    const pinned: ClientCertificate = { certificate: "verified", certificateIdentity: identity([], PIN) };
    expect(await identify(pinned)).toEqual(["pinned"]);
  });

  it.each<[string, ClientCertificate | undefined, AccessRejection, string]>([
    [
      "of nobody is rejected, with its names and its fingerprint",
      verified("spiffe://x/south"),
      "UNKNOWN_CERTIFICATE",
      `no credential is for the client certificate with the names "spiffe://x/south" and the SHA-256 fingerprint ${"cd".repeat(32)}: add one to the gateway's push.credentials`,
    ],
    [
      "that the host rejects is rejected, whatever it names",
      { certificate: "refused", certificateIdentity: identity(["spiffe://x/east"]) },
      "CERTIFICATE_REFUSED",
      "no authority that this gateway trusts (tls.clientCaFile) issued the client certificate, or the certificate is not valid now",
    ],
    ["that is absent is required", undefined, "TOKEN_REQUIRED", NEITHER],
    ["that was not asked for is required", {}, "TOKEN_REQUIRED", NEITHER],
    ["that is none is required", { certificate: "none" }, "TOKEN_REQUIRED", NEITHER],
  ])("%s", async (_, shown, code, message) => {
    const rejection = { code, message, credential: undefined };
    await expect(authority.identify(undefined, shown)).rejects.toMatchObject(rejection);
  });

  it("does not count beside a token, nor where no credential is a certificate", async () => {
    const west = verified("spiffe://x/west");
    expect(await identify(west, "Bearer one")).toEqual(["east"]);
    await expect(identify(west, "Bearer two")).rejects.toMatchObject({
      code: "UNKNOWN_TOKEN",
      message: "the gateway does not know this bearer token",
    });
    const tokensOnly = createAuthority({ secrets });
    for (const shown of [west, { certificate: "refused" as const }, undefined])
      await expect(tokensOnly.identify(undefined, shown)).rejects.toMatchObject({
        code: "TOKEN_REQUIRED",
        message: `${NO_TOKEN}: send one in an Authorization field`,
      });
  });
});

describe("writing a cluster", () => {
  it("is allowed to a holder of that cluster, also if the certificate has other holders", async () => {
    const both = verified("spiffe://x/west", "spiffe://x/east");
    expect(await authority.authorize(undefined, both, "west")).toEqual(certificates[1]!.holder);
    expect(await authority.authorize("Bearer one", undefined, "east")).toEqual(secrets[0]!.holder);
  });

  it("is rejected for another cluster, and names the credential", async () => {
    await expect(authority.authorize("Bearer one", undefined, "west")).rejects.toMatchObject({
      code: "OTHER_CLUSTER",
      message: 'the credential belongs to another cluster than "west"',
      credential: "east",
    });
  });
});

describe("the clusters of an Authorization field", () => {
  it.each<[string | undefined, readonly string[] | undefined]>([
    [undefined, undefined],
    ["Basic b25lOm9uZQ==", undefined],
    ["Bearer", undefined],
    ["Bearer one", ["east"]],
    ["Bearer two", []],
    // Longer than any token that is read.
    [`Bearer ${"t".repeat(16_385)}`, []],
  ])("%j has %j", async (authorization, expected) => {
    const clusters = await authority.clustersOf(authorization);
    expect(clusters && [...clusters]).toEqual(expected);
  });

  it("has none for a secondary, which is no cluster", async () => {
    const transfer = createAuthority({
      secrets: [{ holder: { credential: "edge" }, tokenSha256: sha256("one") }],
    });
    expect(await transfer.clustersOf("Bearer one")).toEqual(new Set());
  });

  it("fails with errors that are not about the token", async () => {
    const broken = createAuthority({ secrets, sha256: () => Promise.reject(new Error("no SHA-256 here")) });
    await expect(broken.clustersOf("Bearer one")).rejects.toThrow("no SHA-256 here");
  });
});
