const LABEL = "[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?";

/** A cluster id: one RFC 1123 label, or two joined by a dot (KEP-1645, Terminology). */
export const CLUSTER_ID = new RegExp(`^${LABEL}(?:\\.${LABEL})?$`);

/** Whether `text` is a cluster id, see {@link CLUSTER_ID}. */
export function isClusterId(text: string): boolean {
  return CLUSTER_ID.test(text);
}

/** What a cluster id is, for messages. */
export const CLUSTER_ID_RULE =
  "lower-case letters, digits and hyphens, at most 63, or two such labels joined by a dot";
