import { type ClientSetup, gatewayAddress } from "../client-setup.ts";
import { isAddress, type SetupFacts } from "../setup-facts.ts";
import { type SetupFile, textFile } from "../setup-file.ts";

/** curl: a name resolved by the gateway, and the answer as JSON. */
export function curlLines(facts: SetupFacts): SetupFile {
  const { resource, origin, prefix, example } = facts;
  const trust = facts.isSelfSigned ? " --cacert certificate.crt" : "";
  return textFile("curl.sh", [
    ...(example.type === "A" || example.type === "AAAA"
      ? [`curl${trust} -v --doh-url '${resource}' 'http://${example.name}/'`]
      : []),
    `curl${trust} -sS '${origin}${prefix}/resolve?name=${example.name}&type=${example.type}'`,
  ]);
}

/** dig (BIND 9.18 and newer) and kdig (Knot), by POST and by GET. */
export function digLines(facts: SetupFacts): SetupFile {
  const { port, example, host, prefix } = facts;
  const asked = `${example.name} ${example.type}`;
  const server = isAddress(host) || facts.addresses.length === 0 ? host : gatewayAddress(facts);
  const at = `@${server}${port === 443 ? "" : ` -p ${port}`}`;
  const path = prefix === "" ? "" : `=${prefix}/dns-query`;
  return textFile("dig.sh", [
    `dig +https${path} ${at} ${asked}`,
    `dig +https-get${path} ${at} ${asked}`,
    `kdig +https${path} ${at} ${asked}`,
    `kdig +https${path} +https-get ${at} ${asked}`,
  ]);
}

export const curl: ClientSetup = {
  id: "curl",
  title: "curl",
  steps: ({ isSelfSigned }) => [
    "With `--doh-url` curl sends every name of that command to the gateway.",
    ...(isSelfSigned
      ? [
          "The gateway's certificate is self-signed: save `certificate.crt` (below) in the folder where you run the line.",
        ]
      : []),
  ],
  files: [curlLines],
};

export const dig: ClientSetup = {
  id: "dig",
  title: "dig, kdig",
  steps: () => ["They verify the gateway's certificate only with `+tls-ca`."],
  files: [digLines],
};
