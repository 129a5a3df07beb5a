/** An SVCB record of a designated resolver (RFC 9461). */
export interface ServiceBinding {
  /** Smaller ones are preferred; from 1 (RFC 9460 section 2.4.1). */
  readonly priority: number;
  /** The target's name in wire form. */
  readonly target: Uint8Array;
  /** ALPN protocol names in ASCII (RFC 9460 section 7.1.1). */
  readonly alpn: readonly string[];
  /** Undefined for the protocol's own port (RFC 9460 section 7.2). */
  readonly port: number | undefined;
  /** The addresses of the target, 4 bytes each (RFC 9460 section 7.3). */
  readonly ipv4Hints: readonly Uint8Array[];
  /** 16 bytes each. */
  readonly ipv6Hints: readonly Uint8Array[];
  /** The URI template's path of DNS over HTTPS, in ASCII (RFC 9461 section 5); undefined for other protocols. */
  readonly dohPath: string | undefined;
}

/** SvcParamKeys (RFC 9460 section 14.3.2, RFC 9461 section 5). */
const Key = { ALPN: 1, PORT: 3, IPV4HINT: 4, IPV6HINT: 6, DOHPATH: 7 } as const;

/** The RDATA of an SVCB record (RFC 9460 section 2.2): priority, target, then the parameters in the order of their keys. */
export function encodeServiceBinding(binding: ServiceBinding): Uint8Array<ArrayBuffer> {
  const { priority, target, alpn, port, ipv4Hints, ipv6Hints, dohPath } = binding;
  const bytes = [...word(priority), ...target];
  const parameter = (key: number, value: readonly number[]) => {
    if (value.length > 0) bytes.push(...word(key), ...word(value.length), ...value);
  };
  parameter(
    Key.ALPN,
    alpn.flatMap((name) => [name.length, ...ascii(name)]),
  );
  parameter(Key.PORT, port === undefined ? [] : word(port));
  parameter(
    Key.IPV4HINT,
    ipv4Hints.flatMap((address) => [...address]),
  );
  parameter(
    Key.IPV6HINT,
    ipv6Hints.flatMap((address) => [...address]),
  );
  parameter(Key.DOHPATH, dohPath === undefined ? [] : ascii(dohPath));
  return Uint8Array.from(bytes);
}

function word(value: number): number[] {
  return [value >>> 8, value & 0xff];
}

function ascii(text: string): number[] {
  return Array.from(text, (character) => character.charCodeAt(0));
}
