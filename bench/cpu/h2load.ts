import { run } from "../../test/e2e/servers/run.ts";
import { ensureTool } from "../../test/e2e/servers/tools/tools.ts";
import type { Shape } from "./shapes.ts";

/** A bounded load. */
export interface Load {
  readonly requests: number;
  /** A file with one URL a line, which are asked in turn by GET; or one URL with a file to POST. */
  readonly ask: { readonly urlFile: string } | { readonly url: string; readonly bodyFile: string };
  /**
   * Default: 8 connections with 8 requests in flight on each. Each connection asks for all URLs of the file
   * from its beginning.
   */
  readonly shape?: Shape;
  readonly headers?: Readonly<Record<string, string>>;
  /** HTTP/2 with TLS (`h2`), or HTTP/1.1 in clear, where each connection has one request in flight. */
  readonly protocol: "h2" | "http/1.1";
}

/** Connections, and requests in flight on each, over HTTP/2. */
export const CONNECTIONS = 8;
export const STREAMS = 8;
const USUAL: Shape = { connections: CONNECTIONS, streams: STREAMS };

/**
 * Sends the requests and waits for the answers.
 * @returns answers per second
 * @throws {Error} where h2load is missing, or any request was not answered with 2xx
 */
export async function sendLoad({
  requests,
  ask,
  protocol,
  shape = USUAL,
  headers = {},
}: Load): Promise<number> {
  await ensureTool("h2load");
  const target =
    "urlFile" in ask
      ? ["-i", ask.urlFile]
      : ["-d", ask.bodyFile, "-H", "content-type: application/dns-message", ask.url];
  const streams = protocol === "h2" ? ["-m", String(shape.streams)] : ["--h1"];
  const counts = ["-n", String(requests), "-c", String(shape.connections), ...streams];
  const fields = Object.entries({ accept: "application/dns-message", ...headers });
  const shown = fields.flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const output = await run("h2load", [...counts, ...shown, ...target]);
  const answered = /^status codes: (\d+) 2xx/m.exec(output)?.[1];
  const spoken = /^Application protocol: (\S+)$/m.exec(output)?.[1];
  if (Number(answered) !== requests || spoken !== protocol)
    throw new Error(`not every request was answered with 2xx over ${protocol}:\n${output}`);
  return Number(/([\d.]+) req\/s/.exec(output)?.[1]);
}
