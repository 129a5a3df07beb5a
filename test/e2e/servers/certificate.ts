import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { generate } from "selfsigned";

export type Certificate = Awaited<ReturnType<typeof certificateFor>>;

/** Writes a self-signed certificate for localhost and 127.0.0.1 into `folder`: `tls.crt` and `tls.key`. */
export async function certificateFor(folder: string) {
  const pem = await generate([{ name: "commonName", value: "localhost" }], {
    algorithm: "sha256",
    extensions: [
      {
        name: "subjectAltName",
        altNames: [
          { type: 2, value: "localhost" },
          { type: 7, ip: "127.0.0.1" },
        ],
      },
    ],
  });
  const certPath = join(folder, "tls.crt");
  const keyPath = join(folder, "tls.key");
  writeFileSync(certPath, pem.cert);
  writeFileSync(keyPath, pem.private, { mode: 0o600 });
  return { cert: pem.cert, key: pem.private, certPath, keyPath };
}
