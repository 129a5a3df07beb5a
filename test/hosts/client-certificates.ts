import { generate } from "selfsigned";

/** A certificate and its key in PEM. */
export interface PemPair {
  readonly cert: string;
  readonly key: string;
}

const DAY = 86_400_000;
const EC = { keyType: "ec", curve: "P-256", algorithm: "sha256" } as const;

/** An authority for client certificates. */
export async function makeAuthority(name: string): Promise<PemPair> {
  const made = await generate([{ name: "commonName", value: name }], {
    ...EC,
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { cert: made.cert, key: made.private };
}

/** A client certificate that an authority signed. @param names its subject alternative names */
export async function makeClient(
  authority: PemPair,
  name: string,
  names: { readonly uris?: readonly string[]; readonly dnsNames?: readonly string[] } = {},
): Promise<PemPair> {
  const altNames = [
    ...(names.uris ?? []).map((url) => ({ type: 6 as const, value: url })),
    ...(names.dnsNames ?? []).map((value) => ({ type: 2 as const, value })),
  ];
  const made = await generate([{ name: "commonName", value: name }], {
    ...EC,
    ca: authority,
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", clientAuth: true },
      ...(altNames.length > 0 ? [{ name: "subjectAltName" as const, altNames }] : []),
    ],
  });
  return { cert: made.cert, key: made.private };
}

/**
 * A server certificate for these names and addresses that an authority signed.
 * @param days how long it is valid; below 0 it has expired
 */
export async function makeServer(
  authority: PemPair,
  names: readonly string[],
  addresses: readonly string[],
  days = 30,
): Promise<PemPair> {
  const made = await generate([{ name: "commonName", value: names[0] ?? addresses[0]! }], {
    ...EC,
    notBeforeDate: new Date(Date.now() - 2 * DAY),
    notAfterDate: new Date(Date.now() + days * DAY),
    ca: authority,
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      {
        name: "subjectAltName",
        altNames: [
          ...names.map((value) => ({ type: 2 as const, value })),
          ...addresses.map((ip) => ({ type: 7 as const, ip })),
        ],
      },
    ],
  });
  return { cert: made.cert, key: made.private };
}
