import { html } from "hono/html";
import type { HistoryEntry } from "../../database/reader.ts";
import { nameOf, namespaceOf } from "../../merge/order.ts";
import type { ServicePart } from "../../names/services.ts";
import { type ListedCluster, leaseBadge } from "../cluster-state.ts";
import type { GridRow } from "./directory.ts";
import {
  clusterLink,
  counted,
  duration,
  type Html,
  natural,
  serviceLink,
  servicePath,
  someOf,
} from "./page.ts";

/** The most clusters that have a column. */
const MOST_COLUMNS = 20;

/** Services × clusters: who exports and imports what, where clusters disagree, and whose lease runs. */
export function serviceGrid(
  rows: readonly GridRow[],
  clusters: readonly ListedCluster[],
  now: number,
  zone: string,
): Html {
  const has = new Set(
    rows.flatMap(({ parts, clusters: sources }) => parts?.map(({ clusterId }) => clusterId) ?? sources),
  );
  const isTooWide = clusters.length > MOST_COLUMNS;
  const columns = clusters
    .filter(({ clusterId }) => !isTooWide || has.has(clusterId))
    .slice(0, MOST_COLUMNS)
    .toSorted((one, other) => natural(one.clusterId, other.clusterId));
  return html`<div class="sheet" tabindex="0" role="region" aria-label="Services by cluster"><table class="grid">
<thead><tr><th scope="col">Service</th>${columns.map((one) => html`<th scope="col">${clusterLink(one.clusterId)}<br>${leaseBadge(one, now)}</th>`)}</tr></thead>
<tbody>${rows.map(
    (
      row,
    ) => html`<tr><th scope="row">${serviceLink(row.namespace, row.name, `${row.name}.${row.namespace}.svc.${zone}`)}
${row.hasConflict === true ? html`<a class="badge bad" href="${servicePath(row.namespace, row.name)}#conflicts">conflict</a>` : ""}
<p class="soft">${summaryOf(row)}</p></th>${columns.map(({ clusterId }) => html`<td>${cell(row, clusterId)}</td>`)}</tr>`,
  )}</tbody></table></div>
${columns.length < clusters.length ? html`<p class="hint"><a href="/clusters">All ${clusters.length} clusters</a></p>` : ""}`;
}

function cell({ parts, clusters }: GridRow, clusterId: string): Html | string {
  if (parts === undefined)
    return clusters.includes(clusterId) ? html`<span class="badge good">answers</span>` : "";
  const part = parts.find((one) => one.clusterId === clusterId);
  return part === undefined
    ? ""
    : html`${exportBadge(part)} ${part.imported ? html`<span class="badge">imports</span>` : ""}`;
}

function exportBadge({ exported }: ServicePart): Html | string {
  if (exported === undefined) return "";
  return exported === "counted"
    ? html`<span class="badge good">exports</span>`
    : html`<span class="badge bad">not served</span>`;
}

function summaryOf({ addresses, addressCount, ports }: GridRow): string {
  return [
    addressCount === 0 ? "no address" : someOf(addresses, addresses.length, addressCount),
    ...ports.map(({ name, number }) => `${name.replace(/^_(.*)\._(.*)$/, "$1 ($2)")} ${number}`),
  ].join(" · ");
}

/** By kind of entry: what happened, and whether it is a loss. */
const HAPPENED: Readonly<Record<string, readonly [what: string, isLoss?: true]>> = {
  whole: ["pushed everything"],
  changes: ["pushed changes"],
  return: ["joined, or came back"],
  expiry: ["lost its lease", true],
  removal: ["was removed after its lease", true],
  departure: ["left", true],
  damage: ["lost damaged rows", true],
  load: ["everything was loaded from the shared log"],
};
const MOST_LINES = 20;
const MOST_LANES = 20;
/** Units of the picture: its width, that of names, and the height of a lane. */
const WIDTH = 720;
const NAMES = 130;
const LANE = 22;

/**
 * Pushes, losses and changes of ranks: a lane for each cluster, and the newest ones in words.
 * @param entries the newest first
 */
export function timeLine(entries: readonly HistoryEntry[], now: number): Html {
  if (entries.length === 0) return html`<p>Nothing happened yet.</p>`;
  const lanes = [...new Set(entries.map(({ clusterId }) => clusterId))]
    .filter((id) => id !== "")
    .sort(natural);
  const oldest = Math.min(...entries.map(({ at }) => at), now - 60_000);
  const x = (at: number) => NAMES + 8 + ((WIDTH - NAMES - 16) * (at - oldest)) / Math.max(1, now - oldest);
  return html`<div class="sheet" tabindex="0" role="region" aria-label="Time line"><svg class="lanes" viewBox="0 0 ${WIDTH} ${LANE * Math.min(lanes.length, MOST_LANES)}" role="img" aria-label="Pushes and losses of ${duration(now - oldest)}, by cluster, as listed below">${lanes
    .slice(0, MOST_LANES)
    .map((clusterId, lane) => {
      const y = LANE * lane + LANE / 2;
      const marks = entries.filter((entry) => entry.clusterId === clusterId);
      return html`<line x1="${NAMES}" x2="${WIDTH}" y1="${y}" y2="${y}"></line><text x="0" y="${y + 4}">${clusterId.length > 18 ? `${clusterId.slice(0, 17)}…` : clusterId}</text>${marks.map(
        ({ kind, at, ranked }) =>
          html`<circle cx="${x(at).toFixed(1)}" cy="${y}" r="${ranked > 0 ? 6 : 4}" class="${HAPPENED[kind]?.[1] ? "loss" : "push"}"></circle>`,
      )}`;
    })}</svg></div>
<ol class="list">${entries.slice(0, MOST_LINES).map((entry) => line(entry, now))}</ol>`;
}

function line({ clusterId, kind, keys, count, ranked, at }: HistoryEntry, now: number): Html {
  const [what, isLoss] = HAPPENED[kind] ?? [kind];
  const named = keys.map((key) => html` ${serviceLink(namespaceOf(key), nameOf(key))}`);
  return html`<li><p>${duration(now - at)} ago: ${clusterId === "" ? "" : clusterLink(clusterId)} <span class="${isLoss ? "bad" : ""}">${what}</span>${count > 1 ? ` ${count} times` : ""}${ranked > 0 ? html`, <span class="badge">${counted(ranked, "rank")} changed</span>` : ""}${named.length > 0 ? html`: for example${named}` : ""}</p></li>`;
}
