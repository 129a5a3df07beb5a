import { html } from "hono/html";
import { HEADER_BYTES } from "../../../dns/codes.ts";
import { readName, readRecord, readWord } from "../../../dns/wire-reader.ts";
import type { Html } from "../page.ts";

/** A part of a message (RFC 1035 section 4.1). */
export interface MessagePart {
  readonly title: string;
  readonly start: number;
  readonly end: number;
}

/** The most bytes of a message that the page shows. */
const MOST_SHOWN = 1024;

const SECTIONS = ["Question", "Answer", "Authority", "Additional"] as const;

/** The ranges of a message's header and sections; from a malformed position on, the rest is one part. */
function splitMessage(message: Uint8Array): readonly MessagePart[] {
  if (message.length < HEADER_BYTES) return [{ title: "Message", start: 0, end: message.length }];
  const parts: MessagePart[] = [{ title: "Header", start: 0, end: HEADER_BYTES }];
  let at = HEADER_BYTES;
  for (const [index, title] of SECTIONS.entries()) {
    const start = at;
    for (let left = readWord(message, 4 + index * 2); left > 0 && at >= 0; left--)
      at = index === 0 ? skipQuestion(message, at) : (readRecord(message, at)?.end ?? -1);
    if (at < 0) return [...parts, { title: "Rest", start, end: message.length }];
    if (at > start) parts.push({ title, start, end: at });
  }
  if (at < message.length) parts.push({ title: "Rest", start: at, end: message.length });
  return parts;
}

function skipQuestion(message: Uint8Array, at: number): number {
  const end = readName(message, at);
  return end < 0 || end + 4 > message.length ? -1 : end + 4;
}

/** Bytes in a line of hex: few enough for a phone's width. */
const LINE_BYTES = 8;

/** Bytes in hex and as ASCII, with their offsets in the message. */
function hexLines(message: Uint8Array, start: number, end: number): string {
  const lines: string[] = [];
  for (let at = start; at < end; at += LINE_BYTES) {
    const bytes = [...message.subarray(at, Math.min(at + LINE_BYTES, end))];
    const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = bytes.map((byte) => (byte > 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(4, "0")}  ${hex.padEnd(LINE_BYTES * 3 - 1)}  ${text}`);
  }
  return lines.join("\n");
}

/** Bytes in base64url without padding (RFC 4648 section 5), as in `?dns=`. */
export function toBase64url(bytes: Uint8Array): string {
  const base64 = btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** A message in wire format: each part in hex, and all of it in base64url. */
export function messageView(message: Uint8Array): Html {
  const shown = message.subarray(0, MOST_SHOWN);
  const parts = splitMessage(message).filter(({ start }) => start < shown.length);
  return html`${parts.map(
    ({ title, start, end }) => html`<p class="hint">${title}, ${end - start} bytes</p>
<pre tabindex="0" aria-label="${title} in hex">${hexLines(message, start, Math.min(end, shown.length))}</pre>`,
  )}
${shown.length < message.length ? html`<p class="hint">The first ${shown.length} of ${message.length} bytes.</p>` : ""}
<p class="hint">base64url${shown.length < message.length ? ", the beginning" : ""}</p>
<pre class="wrap">${toBase64url(shown)}</pre>`;
}
