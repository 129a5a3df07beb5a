import { localChapters, sharedDifferences } from "../cluster-local/differences/index.ts";
import type { Difference } from "../differences/difference.ts";
import { chapters } from "../differences/index.ts";

const introduction = `# Where answers differ from CoreDNS 1.15

End-to-end tests send some thirty thousand queries for the clusterset, and twenty thousand in each pod mode for a cluster's own zone, to CoreDNS and to this gateway on the same objects. Code, flags, answer, SOA and SRV's additional
section must be equal, without order, SRV weights and SOA serials. This page is generated from their table of differences. "MCS" is multicluster DNS 1.0.0, "DNS" DNS-based service discovery 1.0.1.
`;

const localIntroduction = `# Where answers differ in a cluster's own zone

## As in the clusterset zone
`;

/** docs/explanation/coredns-differences.md, from the tables of differences of both zones. */
export function renderDocument(): string {
  const ids = new Set(chapters.flatMap(({ differences }) => differences.map(({ id }) => id)));
  const local = localChapters.flatMap(({ differences }) => differences);
  const alike = [...sharedDifferences, ...local.filter(({ id }) => ids.has(id))];
  const own = localChapters.map(({ title, differences }) => ({
    title,
    differences: differences.filter(({ id }) => !ids.has(id)),
  }));
  return [
    introduction,
    ...renderChapters(chapters),
    localIntroduction,
    ...alike.map(renderShortly),
    "",
    ...renderChapters(own),
  ].join("\n");
}

function renderChapters(of: readonly { title: string; differences: readonly Description[] }[]): string[] {
  return of.flatMap(({ title, differences }) => [
    `## ${title}\n`,
    "| query | CoreDNS | here, by |",
    "| --- | --- | --- |",
    ...differences.map(renderDifference),
    "",
  ]);
}

type Description = Pick<Difference, "title" | "corednsSays" | "weSay" | "reason">;

function renderShortly({ title }: Description): string {
  return `- ${title}`;
}

function renderDifference({ title, corednsSays, weSay, reason }: Description): string {
  const cells = [title, corednsSays, `${weSay.replace(/\.$/, "")} ${sourcesOf(reason)}`];
  return `| ${cells.map((text) => text.replaceAll("|", "\\|").replace(/\.$/, "")).join(" | ")} |`;
}

/** The sections that a reason names; the reason itself where it names none in brackets. */
function sourcesOf(reason: string): string {
  const [, sources] = /\(([^()]*(?:RFC|MCS|DNS|KEP)[^()]*)\)[^()]*$/.exec(reason) ?? [undefined, reason];
  return `(${sources.replaceAll(/ sections? /g, " §").replace(/\.$/, "")})`;
}
