import { findProgram } from "../../test/e2e/servers/apt.ts";
import { run } from "../../test/e2e/servers/run.ts";

/** A bounded load over HTTP/2 with TLS. */
export interface Load {
  readonly requests: number;
  /** A file with one URL a line, which are asked in turn by GET; or one URL with a file to POST. */
  readonly ask: { readonly urlFile: string } | { readonly url: string; readonly bodyFile: string };
  /** Connections, where there are to be others than usual: each asks for all URLs of the file from its beginning. */
  readonly connections?: number;
}

/** Connections, and requests in flight on each. */
export const CONNECTIONS = 8;
export const STREAMS = 8;

/**
 * Sends the requests and waits for the answers.
 * @throws {Error} where h2load is missing, or any request was not answered with 2xx
 */
export async function sendLoad({ requests, ask, connections = CONNECTIONS }: Load): Promise<void> {
  if (findProgram("h2load") === undefined)
    throw new Error(
      "h2load is not on PATH: `node test/e2e/servers/install.ts` installs it, or apt-get install nghttp2-client",
    );
  const target =
    "urlFile" in ask
      ? ["-i", ask.urlFile]
      : ["-d", ask.bodyFile, "-H", "content-type: application/dns-message", ask.url];
  const streams = (CONNECTIONS * STREAMS) / connections;
  const counts = ["-n", String(requests), "-c", String(connections), "-m", String(streams)];
  const output = await run("h2load", [...counts, "-H", "accept: application/dns-message", ...target]);
  const answered = /^status codes: (\d+) 2xx/m.exec(output)?.[1];
  if (Number(answered) !== requests || !/^Application protocol: h2$/m.test(output))
    throw new Error(`not every request was answered with 2xx over HTTP/2:\n${output}`);
}
