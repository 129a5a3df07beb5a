import { type Document, type ParsedNode, parseAllDocuments, type ScalarTag } from "yaml";

/**
 * Reads YAML as kubectl and client-go do: by YAML 1.1 as sigs.k8s.io/yaml has it, which is stricter in
 * places. `yes`, `on` and `y` are true, `0120` is 80; what looks like a date or `1:30` is text; infinity and
 * NaN, which JSON does not have, are errors.
 */
export function parseKubernetesYaml(
  text: string,
  options: { readonly uniqueKeys?: boolean } = {},
): readonly Document.Parsed<ParsedNode>[] {
  const documents = parseAllDocuments(text, {
    schema: "failsafe",
    customTags: [NULL, BOOL, INT, FLOAT, NO_JSON, "binary"],
    merge: true,
    prettyErrors: false,
    ...options,
  });
  return Array.isArray(documents) ? documents : [];
}

const NULL: ScalarTag = {
  tag: "tag:yaml.org,2002:null",
  default: true,
  test: /^(?:~|null|Null|NULL)?$/,
  resolve: () => null,
};

const TRUE = /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON)$/;
const BOOL: ScalarTag = {
  tag: "tag:yaml.org,2002:bool",
  default: true,
  test: /^(?:y|Y|yes|Yes|YES|true|True|TRUE|on|On|ON|n|N|no|No|NO|false|False|FALSE|off|Off|OFF)$/,
  resolve: (text) => TRUE.test(text),
};

/** Go's `strconv.ParseInt` with base 0, after `_` is left out. */
const INT: ScalarTag = {
  tag: "tag:yaml.org,2002:int",
  default: true,
  test: /^[-+]?(?:0_*[bB][01_]*[01]_*|0_*[xX][\da-fA-F_]*[\da-fA-F]_*|0_*[oO][0-7_]*[0-7]_*|0[0-7_]*|[1-9][\d_]*)$/,
  resolve: (text) => {
    const plain = text.replaceAll("_", "");
    const [, sign, digits] = /^([-+]?)(.*)$/.exec(plain)!;
    const value = Number(digits!.replace(/^0(?=\d)/, "0o"));
    // What has no 64 bits is read as a float, which is decimal.
    const fits = value < 2 ** 64 ? value : Number(digits);
    return sign === "-" ? 0 - fits : fits;
  },
};

const FLOAT: ScalarTag = {
  tag: "tag:yaml.org,2002:float",
  default: true,
  test: /^[-+]?(?:\.[\d_]*\d|\d[\d_]*(?:\.[\d_]*)?)_*(?:[eE][-+]?[\d_]*\d_*)?$/,
  resolve: (text) => {
    const value = Number(text.replaceAll("_", ""));
    return Number.isFinite(value) ? value + 0 : text;
  },
};

const NO_JSON: ScalarTag = {
  tag: "tag:yaml.org,2002:float",
  default: true,
  test: /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  resolve: (text, onError) => {
    onError(`${text} is no value of JSON`);
    return text;
  },
};

/** Far more uses of one anchor than any manifest or kubeconfig has, and far fewer than exhaust memory. */
const MOST_ALIASES = 10_000;

/**
 * The value of a document.
 * @throws {Error} for an alias without an anchor or with too many uses, and for a merge key without a mapping
 */
export function toValue(document: Document.Parsed<ParsedNode> | undefined): unknown {
  return document?.toJS({ maxAliasCount: MOST_ALIASES });
}
