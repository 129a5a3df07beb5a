import { html } from "hono/html";
import { parseAddress } from "../../../dns/address.ts";
import { formatReverseName } from "../../../dns/reverse.ts";
import type { Html } from "../page.ts";

/** A question as a person typed it. */
export interface TypedQuestion {
  readonly name: string;
  readonly type: string;
  /** A cluster id; empty for outside. */
  readonly view: string;
}

/** Record types of services, and types that browsers query. */
const TYPES = ["A", "AAAA", "SRV", "PTR", "TXT", "CNAME", "NS", "SOA", "HTTPS", "ANY"];
/** With more clusters the form has a text field instead of a list. */
const MOST_CHOICES = 50;
/** The most characters of a typed text: a name has at most 255 bytes, of four characters each. */
const LONGEST_TEXT = 1024;

/** The question in a URL's `name`, `type` and `view`; undefined without a name. */
export function readTypedQuestion(url: URL): TypedQuestion | undefined {
  const read = (name: string) => (url.searchParams.get(name) ?? "").trim().slice(0, LONGEST_TEXT);
  const name = read("name");
  return name === "" ? undefined : { name, type: read("type") || "A", view: read("view") };
}

/** The same question in the JSON form: an address becomes its reverse name (RFC 1035 section 3.5). */
export function toJsonQuestion({ name, type }: TypedQuestion): string {
  const address = parseAddress(name);
  return address === undefined
    ? `name=${encodeURIComponent(name)}&type=${encodeURIComponent(type)}`
    : `name=${formatReverseName(address)}&type=PTR`;
}

/** The form. It works without a script, and keeps the typed values. `error` says what is wrong with them. */
export function lookUpForm(
  typed: TypedQuestion | undefined,
  clusters: readonly string[],
  example: Pick<TypedQuestion, "name" | "type">,
  error?: string,
): Html {
  const type = typed?.type.toUpperCase() ?? "A";
  const types = TYPES.includes(type) ? TYPES : [...TYPES, type];
  const view = typed?.view ?? "";
  const views = view === "" || clusters.includes(view) ? clusters : [...clusters, view];
  return html`<form action="/#answer" method="get" role="search" aria-label="Look up a name">
<div class="wide"><label for="name">Name, or an IP address</label>
<input id="name" name="name" required maxlength="${LONGEST_TEXT}" value="${typed?.name ?? ""}" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="name-hint${error === undefined ? "" : " error"}"${error === undefined ? "" : html` aria-invalid="true"`}></div>
<div><label for="type">Type</label>
<select id="type" name="type">${types.map((one) => option(one, one, one === type))}</select></div>
<div><label for="view">View</label>
${
  views.length > MOST_CHOICES
    ? html`<input id="view" name="view" value="${view}" placeholder="outside, or a cluster id" autocapitalize="none" spellcheck="false">`
    : html`<select id="view" name="view">${option("", "outside the clusters", view === "")}${views.map((one) => option(one, one, one === view))}</select>`
}</div>
<button>Look up</button>
</form>
${error === undefined ? "" : html`<p class="note" role="alert" id="error">${error}</p>`}
<p class="hint" id="name-hint">For example <a href="/?name=${encodeURIComponent(example.name)}&amp;type=${example.type}#answer">${example.name}</a>. For an address the page looks up its reverse name.</p>`;
}

function option(value: string, text: string, isSelected: boolean): Html {
  return html`<option value="${value}"${isSelected ? html` selected` : ""}>${text}</option>`;
}
