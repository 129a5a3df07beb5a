import { UsageError } from "./usage-error.ts";

/** The address of a listener. An undefined `host` means every address of the machine. */
export interface ListenAddress {
  readonly host: string | undefined;
  readonly port: number;
}

/**
 * Reads `HOST:PORT`, `[IPv6]:PORT` or `:PORT` (every address); port 0 takes a free one.
 * @throws {UsageError} for any other text
 */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535)
    throw new UsageError(
      `${JSON.stringify(text)} is not an address to listen on: HOST:PORT such as localhost:8443, [::1]:8443, or :8443 for every address`,
    );
  return { host: match[1] ?? (match[2] || undefined), port };
}

/** Writes an address in the form that `parseListenAddress` reads. */
export function formatListenAddress(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
