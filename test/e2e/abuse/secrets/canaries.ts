import { createHash, randomBytes } from "node:crypto";

/** So many characters of a secret in a row are too many. */
const SHORTEST_PART = 20;

/** Named secrets, and the search for them in the output of a process. */
export class Canaries {
  /** The forms of each secret. */
  readonly #secrets = new Map<string, [name: string, form: string][]>();

  /** Makes a secret of the length of our tokens. */
  make(name: string): string {
    return this.add(name, randomBytes(32).toString("base64url"));
  }

  /** Takes a secret up. */
  add(name: string, secret: string): string {
    this.#secrets.set(name, formsOf(secret));
    return secret;
  }

  /** The names of the secrets in a text, with their form and place. */
  foundIn(place: string, text: string): string[] {
    return [...this.#secrets].flatMap(([name, forms]) =>
      forms.filter(([, form]) => text.includes(form)).map(([form]) => `${name}, ${form}, in ${place}`),
    );
  }
}

/** The forms in which a secret is one still, or can be compared with guesses. */
function formsOf(secret: string): [string, string][] {
  const bytes = Buffer.from(secret);
  const sha256 = createHash("sha256").update(bytes).digest();
  // Three offsets, since the secret may stand behind something else: a user's name, for instance.
  const base64 = [0, 1, 2].map((offset) =>
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .slice(4, -4),
  );
  const forms: [string, string][] = [
    ["unchanged", secret],
    ["its beginning", secret.slice(0, SHORTEST_PART)],
    ["its end", secret.slice(-SHORTEST_PART)],
    ["reversed", [...secret].reverse().join("")],
    ["in percent-encoding", encodeURIComponent(secret)],
    ["in hex", bytes.toString("hex")],
    ["as SHA-256 in hex", sha256.toString("hex")],
    ["as SHA-256 in base64", sha256.toString("base64").slice(0, -1)],
    ["as SHA-256 in base64url", sha256.toString("base64url")],
    ...base64.map((text): [string, string] => ["in base64", text]),
    ...base64.map((text): [string, string] => [
      "in base64url",
      text.replaceAll("+", "-").replaceAll("/", "_"),
    ]),
  ];
  return forms.filter(([, form]) => form.length >= SHORTEST_PART / 2);
}
