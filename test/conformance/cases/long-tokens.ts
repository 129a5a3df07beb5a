import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { snapshotBody } from "../../snapshot/lines/push-lines.ts";
import { shopSnapshot } from "../../snapshot/worlds.ts";
import type { HttpCase } from "../http-case.ts";
import { pushRequest } from "../push-client.ts";

const DOCUMENT = "docs/reference/push-api.md, Tokens of the cluster itself (OIDC)";
const ISSUER = "https://groups.example";
/** The longest token that is read, in characters. */
const LONGEST = 16_384;

/** A cluster that pushes with tokens of an issuer whose accounts are in many groups. */
export async function longTokens() {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  const jwk = { ...(await exportJWK(publicKey)), kid: "groups", alg: "ES256" };
  const sign = (claims: object) =>
    new SignJWT({ iss: ISSUER, aud: "clusterset-doh", sub: "worker", ...claims })
      .setProtectedHeader({ alg: "ES256", kid: "groups" })
      .setExpirationTime("1h")
      .sign(privateKey);
  /** A token of exactly that many characters. Three bytes of claims are four of the token. */
  const tokenOf = async (length: number): Promise<string> => {
    const groups = Array.from({ length: 300 }, (_, index) => `cn=group-${index},ou=groups`);
    for (let fill = Math.floor(((length - 12_000) * 3) / 4); ; fill++) {
      const token = await sign({ groups, fill: "x".repeat(fill) });
      if (token.length >= length) {
        if (token.length !== length) throw new RangeError(`no token has ${length} characters`);
        return token;
      }
    }
  };
  const most = await tokenOf(LONGEST);
  const body = snapshotBody(shopSnapshot("groups"));
  const send = (title: string, token: string, expected: HttpCase["expected"]): HttpCase => ({
    section: DOCUMENT,
    title,
    ...pushRequest("PUT", "groups/snapshot", { token, body }),
    expected,
  });
  const cases: readonly HttpCase[] = [
    send("a token of 16 KiB is taken", most, { status: 200, jsonWith: { clusterId: "groups" } }),
    send("a token that is longer is called too long", `${most}x`, {
      status: 401,
      headers: { "www-authenticate": /error="invalid_token"/ },
      refusal: { code: "TOKEN_TOO_LONG" },
      text: "16384",
    }),
    {
      section: DOCUMENT,
      title: "the cluster leaves by the same token",
      ...pushRequest("DELETE", "groups", { token: most }),
      expected: { status: 204 },
    },
  ];
  const credential = {
    clusterId: "groups",
    oidc: { issuer: ISSUER, subject: "worker", jwks: { keys: [jwk as { kty: "EC" }] } },
  };
  return { credential, cases };
}
