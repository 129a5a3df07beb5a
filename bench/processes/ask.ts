import { Agent, request } from "undici";

/** An answer as it came over HTTP. */
export interface HttpAnswer {
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** Fields that servers write by themselves. */
const OF_THE_SERVER = ["date", "connection", "keep-alive"];

/**
 * Asks a server once, by GET.
 * @param server `ca`: the PEM text to check its certificate against; empty without TLS
 * @throws {Error} unless it answers 200
 */
export async function askOnce(
  { url, ca }: { readonly url: string; readonly ca: string },
  query: Uint8Array,
): Promise<HttpAnswer> {
  const dispatcher = new Agent({ connect: { ca }, allowH2: true });
  try {
    const answer = await request(`${url}?dns=${Buffer.from(query).toString("base64url")}`, {
      dispatcher,
      headers: { accept: "application/dns-message" },
    });
    const body = Buffer.from(await answer.body.arrayBuffer());
    if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode} ${body.toString()}`);
    const headers: Record<string, string> = {};
    for (const [field, value] of Object.entries(answer.headers))
      if (typeof value === "string" && !OF_THE_SERVER.includes(field)) headers[field] = value;
    return { headers, body };
  } finally {
    await dispatcher.destroy();
  }
}
