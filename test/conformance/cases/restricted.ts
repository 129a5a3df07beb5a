import { createHash } from "node:crypto";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { encodeQuery } from "../../resolve/ask.ts";
import type { Config } from "../host-under-test.ts";
import { type CaseRequest, type CaseResponse, type HttpCase, httpCase } from "../http-case.ts";
import { WHO } from "../http-world.ts";

const hex = (text: string) => createHash("sha256").update(text).digest("hex");
const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;

/** The position of a credential in a request: a header field, or a path prefix. */
export interface Shown {
  readonly headers?: Readonly<Record<string, string>>;
  readonly prefix?: string;
}

/** A kind of credential: a known one, and unknown ones. */
export interface Kind {
  readonly title: string;
  readonly known: Shown;
  readonly unknown: readonly Shown[];
}

/** The credential of the tests themselves: it sees everything. */
export const ADMIN = "Bearer admin-token";

/** The visibility of the other rules: one of the two clusters. */
const SCOPE = { clusters: ["cluster-a"] };

/** A rule of every kind that all hosts support, with its credentials. */
export async function restrictedRules(): Promise<{
  readonly access: NonNullable<Config["access"]>;
  readonly kinds: readonly Kind[];
}> {
  const issuer = "https://issuer.example";
  const [own, other] = await Promise.all([generateKeyPair("ES256"), generateKeyPair("ES256")]);
  const jwk = { ...(await exportJWK(own.publicKey)), kid: "one" };
  const sign = (key: typeof own.privateKey, claims: object) =>
    new SignJWT({ iss: issuer, aud: "clusterset-doh", sub: "ann", groups: ["platform"], ...claims })
      .setProtectedHeader({ alg: "ES256", kid: "one" })
      .setExpirationTime("1h")
      .sign(key);
  const bearer = (token: string): Shown => ({ headers: { authorization: `Bearer ${token}` } });
  const field = (authorization: string): Shown => ({ headers: { authorization } });
  return {
    access: {
      public: false,
      hostNames: ["doh.example.org"],
      rules: [
        { name: "admins", bearer: [{ tokenSha256: hex("admin-token") }] },
        { name: "laptops", scope: SCOPE, bearer: [{ tokenSha256: hex("a") }, { tokenSha256: hex("b") }] },
        { name: "scripts", scope: SCOPE, basic: [{ username: "ci", passwordSha256: hex("pässword") }] },
        { name: "phones", scope: SCOPE, pathTokens: [{ tokenSha256: hex("phone") }] },
        { name: "coredns", scope: SCOPE, hostTokens: [{ tokenSha256: hex("resolver") }] },
        {
          name: "people",
          scope: SCOPE,
          oidc: [{ issuer, claims: { groups: ["platform"] }, jwks: { keys: [jwk as { kty: "EC" }] } }],
        },
      ],
    },
    kinds: [
      {
        title: "a bearer token",
        known: bearer("a"),
        unknown: [bearer("c"), field("Bearer"), field("Bearer a b")],
      },
      { title: "the other bearer token of the rule", known: bearer("b"), unknown: [] },
      {
        title: "a name and a password",
        known: field(basic("ci:pässword")),
        unknown: [field(basic("ci:password")), field(basic("cj:pässword")), field("Basic x")],
      },
      {
        title: "a token in the path",
        known: { prefix: "/tokens/phone" },
        unknown: [{ prefix: "/tokens/other" }, { prefix: "/tokens/Phone" }],
      },
      {
        title: "a token of an issuer",
        known: bearer(await sign(own.privateKey, {})),
        unknown: [bearer(await sign(other.privateKey, {})), bearer(await sign(own.privateKey, { aud: "x" }))],
      },
    ],
  };
}

/** A token in the host name, for hosts whose test client can set it. */
export const HOST_KIND: Kind = {
  title: "a token in the host name",
  known: { headers: { host: "RESOLVER.doh.example.org" } },
  unknown: [{ headers: { host: "other.doh.example.org" } }, { headers: { host: "resolver.example.org" } }],
};

const MESSAGE = "application/dns-message";
const query = new Uint8Array(encodeQuery(WHO, "A"));
const dns = `?dns=${Buffer.from(query).toString("base64url")}`;

/** `*` is for public answers only. */
const NO_ORIGIN = { "access-control-allow-origin": null };
const PRIVATE = { "cache-control": /^private, max-age=/, vary: /\bauthorization\b/, ...NO_ORIGIN };

const ANSWERED = { status: 200, dns: { answer: [`${WHO} 5 A 10.1.0.2`] }, headers: PRIVATE };
const POST = { method: "POST", headers: { "content-type": MESSAGE }, body: query };

/** Each kind of request, with its answer for one of the two clusters. */
const ASKED: readonly (readonly [title: string, request: CaseRequest, answered: CaseResponse])[] = [
  ["GET", { path: `/dns-query${dns}` }, ANSWERED],
  ["POST", { path: "/dns-query", ...POST }, ANSWERED],
  [
    "JSON",
    { path: `/resolve?name=${WHO}&type=A` },
    { status: 200, text: '"data":"10.1.0.2"}]', headers: PRIVATE },
  ],
  ["a view by path", { path: `/clusters/cluster-a/dns-query${dns}` }, ANSWERED],
  [
    "a hidden view by path",
    { path: `/clusters/cluster-b/dns-query${dns}` },
    { status: 404, headers: { "cache-control": "no-store", ...NO_ORIGIN } },
  ],
  [
    "a page",
    { path: "/services" },
    { status: 200, text: "who.shop.svc", headers: { "cache-control": /^private/ } },
  ],
  ["POST of a page", { method: "POST", path: "/services" }, { status: 405, headers: { allow: "GET, HEAD" } }],
  ["metrics, which need a rule that sees everything", { path: "/metrics" }, { status: 404 }],
];

const REFUSED: CaseResponse = {
  status: 401,
  headers: {
    "cache-control": "no-store",
    ...NO_ORIGIN,
    "www-authenticate": /^Bearer realm="clusterset-doh".*, Basic realm="clusterset-doh", charset="UTF-8"$/,
  },
};

const RULES = "docs/how-to/access.md, Rules";

/** Every kind of credential in every kind of request: known, unknown, and missing. */
export function restrictedCases(kinds: readonly Kind[]): HttpCase[] {
  const row = (
    title: string,
    request: CaseRequest,
    { headers, prefix = "" }: Shown,
    expected: CaseResponse,
  ) =>
    httpCase(RULES, title, `${prefix}${request.path}`, expected, {
      ...request,
      headers: { origin: "https://app.example", ...request.headers, ...headers },
    });
  return ASKED.flatMap(([asked, request, answered]) => [
    row(`${asked} with nothing`, request, {}, REFUSED),
    ...kinds.flatMap(({ title, known, unknown }) => [
      row(`${asked} with ${title}`, request, known, answered),
      ...unknown.map((shown, index) => {
        const none = `no ${title.replace(/^an? |^the /, "")} (${index + 1})`;
        return row(`${asked} with what is ${none}`, request, shown, REFUSED);
      }),
    ]),
  ]);
}

/** Requests that need no credential. */
export const openCases: readonly HttpCase[] = [
  ...["/healthz", "/readyz"].map((path) =>
    httpCase(
      "RFC 9110 section 15.5.6",
      `POST ${path} is not allowed`,
      path,
      { status: 405, headers: { allow: "GET, HEAD" } },
      { method: "POST" },
    ),
  ),
  httpCase(RULES, "health needs no credential", "/healthz", { status: 200, text: "ok" }),
  httpCase(RULES, "readiness has no counts without a credential", "/readyz", {
    status: 200,
    text: "ready\n",
  }),
  httpCase(
    "Fetch standard, section 4.8",
    "a preflight needs no credential, and allows no origin to read restricted answers",
    "/clusters/cluster-b/dns-query",
    { status: 204, headers: { ...NO_ORIGIN, "access-control-allow-headers": null } },
    {
      method: "OPTIONS",
      headers: { origin: "https://app.example", "access-control-request-method": "GET" },
    },
  ),
];
