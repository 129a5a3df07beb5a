/** The static table: names and values in turn, from index 1 on (RFC 7541, appendix A). */
// biome-ignore format: an entry a line would be 61 lines
const ENTRIES = [
  ":authority", "", ":method", "GET", ":method", "POST", ":path", "/", ":path", "/index.html", ":scheme", "http", ":scheme", "https",
  ":status", "200", ":status", "204", ":status", "206", ":status", "304", ":status", "400", ":status", "404", ":status", "500",
  "accept-charset", "", "accept-encoding", "gzip, deflate", "accept-language", "", "accept-ranges", "", "accept", "",
  "access-control-allow-origin", "", "age", "", "allow", "", "authorization", "", "cache-control", "", "content-disposition", "",
  "content-encoding", "", "content-language", "", "content-length", "", "content-location", "", "content-range", "", "content-type", "",
  "cookie", "", "date", "", "etag", "", "expect", "", "expires", "", "from", "", "host", "", "if-match", "", "if-modified-since", "",
  "if-none-match", "", "if-range", "", "if-unmodified-since", "", "last-modified", "", "link", "", "location", "", "max-forwards", "",
  "proxy-authenticate", "", "proxy-authorization", "", "range", "", "referer", "", "refresh", "", "retry-after", "", "server", "",
  "set-cookie", "", "strict-transport-security", "", "transfer-encoding", "", "user-agent", "", "vary", "", "via", "",
  "www-authenticate", "",
] as const;

/** Entries of the static table. */
export const STATIC_LENGTH = ENTRIES.length / 2;

/** @param index from 1 to `STATIC_LENGTH` */
export function staticName(index: number): string {
  return ENTRIES[2 * index - 2]!;
}

/** @param index from 1 to `STATIC_LENGTH` */
export function staticValue(index: number): string {
  return ENTRIES[2 * index - 1]!;
}

const BY_NAME = new Map<string, number>();
const BY_FIELD = new Map<string, number>();
for (let index = STATIC_LENGTH; index >= 1; index--) {
  BY_NAME.set(staticName(index), index);
  BY_FIELD.set(`${staticName(index)}\n${staticValue(index)}`, index);
}

/** The first entry with a name; 0 if there is none. */
export function findStaticName(name: string): number {
  return BY_NAME.get(name) ?? 0;
}

/** The entry with a name and a value; 0 if there is none. */
export function findStaticField(name: string, value: string): number {
  return BY_FIELD.get(`${name}\n${value}`) ?? 0;
}
