import { generate } from "selfsigned";

/** A certificate and its key in PEM. */
export interface PemPair {
  readonly cert: string;
  readonly key: string;
}

const DAY = 86_400_000;
const EC = { keyType: "ec", curve: "P-256", algorithm: "sha256" } as const;

const NO_CA = { name: "basicConstraints", cA: false, critical: true } as const;
const SIGNS = { name: "keyUsage", digitalSignature: true, critical: true } as const;

type Options = NonNullable<Parameters<typeof generate>[1]>;

async function make(value: string, options: Options): Promise<PemPair> {
  const made = await generate([{ name: "commonName", value }], { ...EC, ...options });
  return { cert: made.cert, key: made.private };
}

/** An authority for certificates. */
export const makeAuthority = (name: string) =>
  make(name, {
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true },
    ],
  });

/** A client certificate that an authority signed. @param names its subject alternative names */
export function makeClient(
  ca: PemPair,
  name: string,
  {
    uris = [],
    dnsNames = [],
  }: { readonly uris?: readonly string[]; readonly dnsNames?: readonly string[] } = {},
): Promise<PemPair> {
  const altNames = [
    ...uris.map((url) => ({ type: 6 as const, value: url })),
    ...dnsNames.map((value) => ({ type: 2 as const, value })),
  ];
  const named = altNames.length > 0 ? [{ name: "subjectAltName" as const, altNames }] : [];
  return make(name, { ca, extensions: [NO_CA, SIGNS, { name: "extKeyUsage", clientAuth: true }, ...named] });
}

/** A server certificate that an authority signed. @param days how long it is valid; below 0 it has expired */
export function makeServer(
  ca: PemPair,
  names: readonly string[],
  addresses: readonly string[],
  days = 30,
): Promise<PemPair> {
  const altNames = [
    ...names.map((value) => ({ type: 2 as const, value })),
    ...addresses.map((ip) => ({ type: 7 as const, ip })),
  ];
  const named = { name: "subjectAltName", altNames } as const;
  return make(names[0] ?? addresses[0]!, {
    notBeforeDate: new Date(Date.now() - 2 * DAY),
    notAfterDate: new Date(Date.now() + days * DAY),
    ca,
    extensions: [NO_CA, SIGNS, { name: "extKeyUsage", serverAuth: true }, named],
  });
}
