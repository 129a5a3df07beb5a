import * as z from "zod";
import { describeParts, isKeysUrl, privatePartsOf } from "../access/oidc.ts";
import { FileName, oneOf } from "./hosts.ts";
import { countOf, text } from "./values.ts";

const Jwk = z.looseObject({ kty: z.unknown() }).superRefine((key, context) => {
  const parts = privatePartsOf(key);
  if (parts.length > 0)
    context.addIssue({ code: "custom", path: [parts[0]!], message: describeParts(parts) });
  else if (!["RSA", "EC", "OKP"].includes(key.kty as string))
    context.addIssue({ code: "custom", path: ["kty"], message: "must be RSA, EC or OKP: a public key" });
});

const Jwks = z.strictObject({ keys: z.array(Jwk).min(1).max(100) });

const KeysUrl = z.string().refine(isKeysUrl, "must be an https URL (http on this machine only)");

/**
 * The settings of an issuer's tokens, with exactly one place of its keys.
 * @param subjects selects the tokens that count
 */
export function issuerSettings<Subjects extends z.ZodRawShape>(subjects: Subjects) {
  return z
    .strictObject({
      issuer: text,
      /** Must differ from the API server's own audience, so that a token is valid at one of the two only. */
      audience: text.default("clusterset-doh"),
      jwks: Jwks.optional(),
      /**
       * The keys in the form of `kubectl get --raw /openid/v1/jwks`; the file is read again when it changes.
       */
      jwksFile: FileName,
      jwksUri: KeysUrl.optional(),
      discovery: z.literal(true).optional(),
      /** Certificate authorities for `jwksUri` and `discovery`, instead of the system's. */
      caFile: FileName,
      /** The token that the URL requires. */
      tokenFile: FileName,
      ...subjects,
    })
    .check(oneOf(["jwks", "jwksFile", "jwksUri", "discovery"]))
    .refine(
      (value) =>
        countOf(value, ["caFile", "tokenFile"]) === 0 || countOf(value, ["jwksUri", "discovery"]) === 1,
      "has caFile and tokenFile for jwksUri and discovery only",
    )
    .refine(isDiscoverable, {
      error: "needs an issuer that is an https URL: give jwks or jwksUri otherwise",
      path: ["discovery"],
    });
}

function isDiscoverable(value: object): boolean {
  const { discovery, issuer } = value as { readonly discovery?: true; readonly issuer: string };
  return discovery === undefined || isKeysUrl(issuer);
}
