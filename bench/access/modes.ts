import { createHash, randomBytes } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { makeClient, type PemPair } from "../../test/hosts/client-certificates.ts";
import type { Asking } from "./load.ts";

/** A way in which somebody asks, and what the gateway is configured with for it. */
export interface Mode {
  readonly name: string;
  readonly access: object;
  readonly asking: Pick<Asking, "path" | "host" | "headers" | "certificate">;
}

/** The name that host-name tokens stand before. */
export const HOST_NAME = "dns.example.org";
/** The number of other credentials of a rule: each is compared. */
const OTHERS = 99;

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const makeToken = () => randomBytes(20).toString("hex");
const plain = { path: "/dns-query" };

/** Every kind of rule, and what is shown for it. @param authority of the client certificates */
export async function makeModes(authority: PemPair): Promise<readonly Mode[]> {
  const token = makeToken();
  const tokens = [...Array.from({ length: OTHERS }, makeToken), token].map((one) => ({
    tokenSha256: sha256(one),
  }));
  const only = (kind: object, hostNames: readonly string[] = []) => ({
    public: false,
    hostNames,
    rules: [{ name: "bench", ...kind }],
  });
  const bearer = (text: string) => ({ ...plain, headers: { authorization: `Bearer ${text}` } });
  const basic = Buffer.from(`bench:${token}`).toString("base64");
  const issued = await issueToken();
  const spiffe = "spiffe://example.org/bench";
  const certificate = await makeClient(authority, "bench", { uris: [spiffe] });
  return [
    { name: "public", access: { public: true }, asking: plain },
    { name: "bearer token", access: only({ bearer: tokens.slice(-1) }), asking: bearer(token) },
    { name: "bearer token, one of 100", access: only({ bearer: tokens }), asking: bearer(token) },
    {
      name: "basic",
      access: only({ basic: [{ username: "bench", passwordSha256: sha256(token) }] }),
      asking: { ...plain, headers: { authorization: `Basic ${basic}` } },
    },
    {
      name: "token in the path",
      access: only({ pathTokens: tokens.slice(-1) }),
      asking: { path: `/tokens/${token}/dns-query` },
    },
    {
      name: "token in the host name",
      access: only({ hostTokens: tokens.slice(-1) }, [HOST_NAME]),
      asking: { ...plain, host: `${token}.${HOST_NAME}` },
    },
    {
      name: "client certificate",
      access: only({ certificates: [{ san: spiffe }] }),
      asking: { ...plain, certificate },
    },
    { name: "OIDC token", access: only({ oidc: [issued.rule] }), asking: bearer(issued.token) },
    { name: "address", access: only({ addresses: ["127.0.0.0/8"] }), asking: plain },
  ];
}

async function issueToken() {
  const issuer = "https://issuer.example.org";
  const { publicKey, privateKey } = await generateKeyPair("RS256");
  const token = await new SignJWT({ groups: ["platform"] })
    .setProtectedHeader({ alg: "RS256", kid: "bench" })
    .setIssuer(issuer)
    .setSubject("bench")
    .setAudience("clusterset-doh")
    .setExpirationTime("1h")
    .sign(privateKey);
  const keys = [{ ...(await exportJWK(publicKey)), kid: "bench", alg: "RS256" }];
  return { token, rule: { issuer, claims: { groups: ["platform"] }, jwks: { keys } } };
}
