import { isLabelValue, isQualifiedName } from "../snapshot/desired/qualified-name.ts";

/** Bytes of all annotations of an object that an API server takes; a fourth of it is left to others. */
const MOST_ANNOTATION_BYTES = 192 * 1024;

/** What tells controllers and the dataplane how to treat an object: exports must not set it. */
const RESERVED =
  /^(?:(?:multicluster\.|endpointslice\.)?kubernetes\.io|multicluster\.x-k8s\.io|clusterset-doh\.dev)\/|^app\.kubernetes\.io\/managed-by$/;

type Pairs = Readonly<Record<string, string>>;

/** The exported labels that an API server takes as labels of a ServiceImport, without those that controllers go by. */
export function importLabels(labels: Pairs): Record<string, string> {
  return pick(labels, isLabelValue);
}

/** The exported annotations that an API server takes, the first by key up to its bound. */
export function importAnnotations(annotations: Pairs): Record<string, string> {
  let bytes = 0;
  return pick(annotations, (value, key) => {
    // UTF-8 takes at most three bytes for a UTF-16 code unit.
    bytes += 3 * (key.length + value.length);
    return bytes <= MOST_ANNOTATION_BYTES;
  });
}

function pick(pairs: Pairs, fits: (value: string, key: string) => boolean): Record<string, string> {
  const picked: Record<string, string> = {};
  for (const key of Object.keys(pairs).sort())
    if (isAllowedKey(key) && fits(pairs[key]!, key)) picked[key] = pairs[key]!;
  return picked;
}

function isAllowedKey(key: string): boolean {
  return isQualifiedName(key) && !RESERVED.test(key);
}
