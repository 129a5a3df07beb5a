import * as z from "zod";

/** SHA-256 in hex, as `clusterset-doh token` prints it. */
export const TokenSha256 = z.string().regex(/^[0-9a-f]{64}$/i, "must be 64 hex digits");

/** What the audit log calls a credential. */
export const CredentialName = z
  .string()
  .regex(/^[^\p{C}]{1,100}$/u, "must be 1 to 100 characters without control characters");

/** A token by its hash, where there are no files. */
export const HashedToken = z.strictObject({ tokenSha256: TokenSha256 });

const hasOne = ({ tokenSha256, tokenFile }: { tokenSha256?: unknown; tokenFile?: unknown }) =>
  (tokenSha256 === undefined) !== (tokenFile === undefined);

/** A token by its hash, or in a file that is read again when it changes. */
export const TokenOrFile = z
  .strictObject({ tokenSha256: TokenSha256.optional(), tokenFile: z.string().min(1).optional() })
  .refine(hasOne, "must have one of tokenSha256 and tokenFile");

export type TokenOrFile = z.infer<typeof TokenOrFile>;

/** The token of a secondary. */
export const TransferCredential = z
  .strictObject({
    name: CredentialName.optional(),
    tokenSha256: TokenSha256.optional(),
    tokenFile: z.string().min(1).optional(),
  })
  .refine(hasOne, "must have one of tokenSha256 and tokenFile");
