import type { Difference } from "../differences/difference.ts";
import { differences, ownDifferences } from "../differences/index.ts";

const introduction = `# Where answers differ from CoreDNS 1.15

Tests ask both the same, on the same objects: code, flags, answer, SOA and SRV's additional section must be equal, without order, SRV weights and SOA
serials, but for this table. "MCS" is multicluster DNS 1.0.0, "DNS" DNS-based service discovery 1.0.1, which
decides in a cluster's own zone.
`;

const localIntroduction = `# Where answers differ in a cluster's own zone

The rows with † above, and these:
`;

/** docs/explanation/coredns-differences.md, from the tables of differences of both zones. */
export function renderDocument(): string {
  const tables = [
    introduction,
    ...renderTable(differences),
    localIntroduction,
    ...renderTable(ownDifferences),
  ];
  return tables.join("\n");
}

function renderTable(differences: readonly Difference[]): string[] {
  return [
    "| query | CoreDNS | here, by |",
    "| --- | --- | --- |",
    ...differences.map(({ title, corednsSays, weSay, reason, isShared }) => {
      const cells = [
        isShared ? `${title} †` : title,
        corednsSays,
        `${weSay.replace(/\.$/, "")} ${sourcesOf(reason)}`,
      ];
      return `| ${cells.map((text) => text.replaceAll("|", "\\|").replace(/\.$/, "")).join(" | ")} |`;
    }),
    "",
  ];
}

/** The sections that a reason names; the reason itself where it names none in brackets. */
function sourcesOf(reason: string): string {
  const [, sources] = /\(([^()]*(?:RFC|MCS|DNS|KEP)[^()]*)\)[^()]*$/.exec(reason) ?? [undefined, reason];
  return `(${sources.replaceAll(/ sections? /g, " §").replace(/\.$/, "")})`;
}
