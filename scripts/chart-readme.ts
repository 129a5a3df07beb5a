import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isMap, isScalar, type Node, parseDocument, stringify, type YAMLMap } from "yaml";
import { commentOn } from "./config-schemas.ts";

const REPOSITORY = "https://github.com/clusterset-doh/clusterset-doh/blob/main";
const HEADING = "\n## Values\n";

/**
 * The READMEs of the charts by path: what they have above their values, and a table of values.yaml with its
 * comments.
 */
export function chartReadmes(): ReadonlyMap<string, string> {
  return new Map(
    ["gateway", "sync-worker"].map((chart) => {
      const folder = `infra/helm/${chart}`;
      const path = `${folder}/README.md`;
      const [head] = readText(path).split(HEADING);
      const { contents } = parseDocument(readText(`${folder}/values.yaml`));
      const rows = ["| key | default | meaning |", "| --- | --- | --- |", ...rowsOf(contents as Values, "")];
      return [path, `${head}${HEADING}\n${rows.join("\n")}\n`];
    }),
  );
}

type Values = YAMLMap<Node, Node>;

function readText(path: string): string {
  return readFileSync(join(import.meta.dirname, "..", path), "utf8");
}

function rowsOf(map: Values, path: string): string[] {
  return map.items.flatMap(({ key, value }, index) => {
    const name = String(isScalar(key) ? key.value : key);
    const full = path + (name.includes(".") ? `"${name}"` : name);
    const meaning = meaningOf(commentOn(map, index));
    if (!isMap(value) || value.flow === true) return [row(full, inline(value!), meaning)];
    return [...(meaning === "" ? [] : [row(full, "", meaning)]), ...rowsOf(value as Values, `${full}.`)];
  });
}

function row(key: string, value: string, meaning: string): string {
  return `| \`${key}\` | ${value} | ${meaning} |`.replaceAll("  ", " ");
}

function inline(value: Node): string {
  return `\`${stringify(value.toJSON(), { collectionStyle: "flow", lineWidth: 0 }).trim()}\``;
}

/** A comment as Markdown: its indented lines are examples, and pages of the checkout are links. */
function meaningOf(comment: string): string {
  return comment
    .split("\n")
    .map((line) =>
      line.startsWith("   ")
        ? `\`${line.trim()}\``
        : line
            .trim()
            .replaceAll(/`[^`]*`|</g, (part) => (part === "<" ? "\\<" : part))
            .replaceAll(/\bdocs\/[\w/-]+\.md\b/g, (page) => `[${page}](${REPOSITORY}/${page})`),
    )
    .join(" ");
}
