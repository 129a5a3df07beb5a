import { readFileSync } from "node:fs";

/** What a server that knows one answer is started with, as JSON in its first argument. */
export interface FixedAnswer {
  readonly port: number;
  readonly certFile: string;
  readonly keyFile: string;
  /** The header fields of the gateway's answer. */
  readonly headers: Record<string, string>;
  /** The body in base64. */
  readonly body: string;
}

/** Reads what this process was started with. */
export function readFixedAnswer() {
  const { port, certFile, keyFile, headers, body } = JSON.parse(process.argv[2]!) as FixedAnswer;
  const tls = { cert: readFileSync(certFile, "utf8"), key: readFileSync(keyFile, "utf8") };
  return { port, tls, headers, body: new Uint8Array(Buffer.from(body, "base64")) };
}
