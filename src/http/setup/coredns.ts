import {
  addressStep,
  type ClientSetup,
  gatewayAddress,
  isAddress,
  lacksListener,
  listenerOf,
  place,
  type SetupFacts,
  type SetupFile,
  textFile,
  trustStep,
} from "./facts.ts";

/** A server block that forwards the zone to the gateway by DNS over HTTPS, for CoreDNS 1.14.5 and newer. */
export function corefile(facts: SetupFacts): SetupFile {
  return textFile("Corefile", serverBlock(facts, `https://${place(gatewayAddress(facts), facts.port, 443)}`));
}

/** The same by DNS over TLS, or by plain DNS if DNS over TLS is off, for every CoreDNS. */
export function corefileOfListener(facts: SetupFacts): SetupFile {
  const { overTls, address, port } = listenerOf(facts);
  const upstream = overTls ? `tls://${place(address, port, 853)}` : `dns://${place(address, port, 53)}`;
  return textFile("Corefile-dns", serverBlock(facts, upstream));
}

/** A ConfigMap, or a kustomize patch of it, from which AKS, k3s and others let CoreDNS import `*.server`. */
function corednsCustom(facts: SetupFacts): SetupFile {
  return configMap(facts, "coredns-custom", "clusterset-doh.server", []);
}

/** A kustomize patch of kubeadm's ConfigMap: its Corefile is one value, so a patch replaces all of it. */
function corednsPatch(facts: SetupFacts): SetupFile {
  return configMap(facts, "coredns", "Corefile", KUBEADM_COREFILE);
}

const coredns: ClientSetup = {
  id: "coredns",
  title: "CoreDNS by DNS over HTTPS (1.14.5 and newer)",
  lacks: lacksPath,
  steps: (facts) => [
    "Add the server block to the Corefile, after the existing ones. CoreDNS queries the path `/dns-query`, and so is a client outside the clusters.",
    ...addressStep(facts),
    ...trustStep(facts, TRUST),
  ],
  files: [corefile],
};

const corednsOfListener: ClientSetup = {
  id: "coredns-dns",
  title: "CoreDNS, any version",
  lacks: lacksListener,
  steps: (facts) => [
    "Add the server block to the Corefile, after the existing ones.",
    ...addressStep(facts, facts.dot ?? facts.dns),
    ...(listenerOf(facts).overTls ? trustStep(facts, TRUST) : []),
  ],
  files: [corefileOfListener],
};

const corednsOnKubernetes: ClientSetup = {
  id: "coredns-kubernetes",
  title: "CoreDNS in a Kubernetes cluster",
  lacks: (facts) => (lacksListener(facts) === undefined ? undefined : lacksPath(facts)),
  steps: (facts) => [
    "AKS, k3s and others import a ConfigMap of their users: `kubectl apply -f coredns-custom.yaml`.",
    "kubeadm and kind: name `coredns-patch.yaml` below `patches` in a kustomization whose resources hold your ConfigMap `coredns`. It replaces the whole Corefile: compare everything after the first block with yours before.",
    "Then `kubectl -n kube-system rollout restart deployment coredns`.",
    ...(lacksListener(facts) !== undefined
      ? [
          "The block needs CoreDNS 1.14.5 or newer. If the gateway has DNS over TLS or plain DNS enabled (`--dot`, `--dns`) this page has one for any CoreDNS.",
        ]
      : []),
    ...addressStep(facts, facts.dot ?? facts.dns),
    ...(listenerOf(facts).overTls ? trustStep(facts, TRUST) : []),
  ],
  files: [corednsCustom, corednsPatch],
};

const KUBEADM_COREFILE = [
  "# From here on: kubeadm's default. Use your own.",
  ".:53 {",
  "    errors",
  "    health {",
  "        lameduck 5s",
  "    }",
  "    ready",
  "    kubernetes cluster.local in-addr.arpa ip6.arpa {",
  "        pods insecure",
  "        fallthrough in-addr.arpa ip6.arpa",
  "        ttl 30",
  "    }",
  "    prometheus :9153",
  "    forward . /etc/resolv.conf {",
  "        max_concurrent 1000",
  "    }",
  "    cache 30",
  "    loop",
  "    reload",
  "    loadbalance",
  "}",
];

function configMap(facts: SetupFacts, name: string, key: string, rest: readonly string[]): SetupFile {
  const block = (lacksListener(facts) === undefined ? corefileOfListener(facts) : corefile(facts)).text
    .trimEnd()
    .split("\n");
  return textFile(
    name === "coredns" ? "coredns-patch.yaml" : `${name}.yaml`,
    [
      "apiVersion: v1",
      "kind: ConfigMap",
      "metadata:",
      `  name: ${name}`,
      "  namespace: kube-system",
      "data:",
      `  ${key}: |`,
      ...[...block, ...rest].map((line) => `    ${line}`),
    ],
    "application/yaml; charset=utf-8",
  );
}

function serverBlock({ zone, host, isSelfSigned }: SetupFacts, upstream: string): string[] {
  const options = upstream.startsWith("dns://")
    ? []
    : [
        ...(isAddress(host) ? [] : [`        tls_servername ${host}`]),
        ...(isSelfSigned ? ["        tls certificate.crt"] : []),
      ];
  return [
    `${zone}:53 {`,
    "    errors",
    "    cache 5",
    ...(options.length === 0
      ? [`    forward . ${upstream}`]
      : [`    forward . ${upstream} {`, ...options, "    }"]),
    "}",
  ];
}

/** CoreDNS always uses the path `/dns-query`. */
function lacksPath({ prefix }: SetupFacts): string | undefined {
  return prefix === ""
    ? undefined
    : "CoreDNS cannot set a path, so it cannot send your token. Use a token in the host name for it (setting `access.rules[].hostTokens`).";
}

const TRUST = "give CoreDNS `certificate.crt` (below), and its path in the block.";

/** In the order of the page. */
export const COREDNS = [coredns, corednsOfListener, corednsOnKubernetes];
