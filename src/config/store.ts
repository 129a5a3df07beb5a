import * as z from "zod";

/** What a prefix may be. Every key has it in braces, as a hash tag: so it has no braces itself. */
const PREFIX = /^[A-Za-z0-9._:-]{1,64}$/;

/** Valkey or Redis, where the state is kept instead of in the state folder. */
export const Store = z.strictObject({
  /** `redis://` or `rediss://` (TLS), with host, port and database. */
  url: z.string().refine(isRedisUrl, "must be redis://HOST[:PORT][/DATABASE], or rediss:// for TLS"),
  /** The ACL user. */
  username: z.string().min(1).optional(),
  passwordFile: z.string().min(1).optional(),
  /** Certificates in PEM of the authorities that sign the engine's. */
  caFile: z.string().min(1).optional(),
  /** What all keys begin with: gateways that share an engine need one each. */
  prefix: z.string().regex(PREFIX, "must be 1 to 64 letters, digits, and . _ : -").default("clusterset-doh"),
});
export type Store = z.infer<typeof Store>;

function isRedisUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, pathname, search, hash } = new URL(text);
  const isPlain = search === "" && hash === "" && /^(?:\/\d{0,5})?$/.test(pathname);
  return (protocol === "redis:" || protocol === "rediss:") && hostname !== "" && isPlain;
}
