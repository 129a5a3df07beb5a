import { localChapters, sharedDifferences } from "../cluster-local/differences/index.ts";
import type { Difference } from "../differences/difference.ts";
import { chapters } from "../differences/index.ts";

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
  const everywhere = chapters.flatMap(({ differences }) => differences);
  const local = localChapters.flatMap(({ differences }) => differences);
  const inBoth = new Set([...sharedDifferences, ...local].map(({ id }) => id));
  const ids = new Set(everywhere.map(({ id }) => id));
  return [
    introduction,
    ...renderTable(everywhere, (id) => (inBoth.has(id) ? " †" : "")),
    localIntroduction,
    ...renderTable(local.filter(({ id }) => !ids.has(id))),
  ].join("\n");
}

type Description = Pick<Difference, "id" | "title" | "corednsSays" | "weSay" | "reason">;

function renderTable(differences: readonly Description[], mark = (_: string): string => ""): string[] {
  return [
    "| query | CoreDNS | here, by |",
    "| --- | --- | --- |",
    ...differences.map(({ id, title, corednsSays, weSay, reason }) => {
      const cells = [`${title}${mark(id)}`, corednsSays, `${weSay.replace(/\.$/, "")} ${sourcesOf(reason)}`];
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
