import type { ApiServers, SeenRequest } from "./api-servers.ts";

/** A kubeconfig, and what kubectl and the worker send with it. */
export interface KubeconfigCase {
  readonly title: string;
  /** Files of a folder by name. A name that ends with `.sh` is executable. */
  files(servers: ApiServers): Readonly<Record<string, string | object>>;
  /** Of the environment: names of files of the folder, joined by `:`. An empty one stays empty. */
  readonly KUBECONFIG?: string;
  readonly flags?: { readonly kubeconfig?: string; readonly context?: string };
  /** Whether a pod's service account is there, of server two. The oracle cannot have one. */
  readonly inPod?: boolean;
  /** What the server sees, or the message of the worker. */
  readonly expected: (Omit<SeenRequest, "path"> & { readonly path?: string }) | RegExp;
  /** What a plugin that writes `info.json` is told. */
  readonly info?: (servers: ApiServers) => object;
  /** Where kubectl differs: it asks for a name and a password, and fails without a terminal; or it falls back to localhost:8080. */
  readonly kubectl?: "fails";
}

interface Part {
  readonly name?: string;
  readonly cluster?: object | null;
  readonly user?: object | null;
  readonly current?: string | undefined;
}

/** A kubeconfig with one context, cluster and user of a name. */
function config({ name = "one", cluster = null, user = null, ...rest }: Part): object {
  const current = "current" in rest ? rest.current : name;
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster }],
    users: [{ name: `${name}-user`, user }],
    contexts: [{ name, context: { cluster: name, user: `${name}-user` } }],
    "current-context": current,
  };
}

const ca = { "certificate-authority": "api.crt" };
const one = ({ one }: ApiServers, user: object | null = { token: "t1" }) =>
  config({ cluster: { server: one, ...ca }, user });
const two = ({ two }: ApiServers, user: object = { token: "t2" }) =>
  config({ name: "two", cluster: { server: two, ...ca }, user });
const V1 = "client.authentication.k8s.io/v1";
const exec = (more: object = {}) => ({
  exec: { apiVersion: V1, command: "./plugin.sh", interactiveMode: "Never", ...more },
});
const prints = (text: string) => `#!/bin/sh\ncat <<'END'\n${text}\nEND\n`;
/** A plugin in shell that returns this status. */
const plugin = (status: object, apiVersion = V1) =>
  prints(JSON.stringify({ apiVersion, kind: "ExecCredential", status }));
const TOKEN_PLUGIN = plugin({ token: "from-plugin" });
const seen = (authorization?: string, server = "one") => ({
  server,
  ...(authorization !== undefined && { authorization }),
});

export const KUBECONFIG_CASES: readonly KubeconfigCase[] = [
  // Which file, context and cluster.
  {
    title: "of two files the first one that has a current-context sets it",
    files: (servers) => ({ "k1.yaml": one(servers), "k2.yaml": two(servers) }),
    KUBECONFIG: "k1.yaml:k2.yaml",
    expected: seen("Bearer t1"),
  },
  {
    title: "a later file sets the current-context where the first one has none",
    files: (servers) => ({ "k1.yaml": { ...one(servers), "current-context": "" }, "k2.yaml": two(servers) }),
    KUBECONFIG: "k1.yaml:k2.yaml",
    expected: seen("Bearer t2", "two"),
  },
  {
    title: "a context of the second file may name a cluster and a user of the first one",
    files: (servers) => ({
      "k1.yaml": { ...one(servers), contexts: null, "current-context": null },
      "k2.yaml": {
        contexts: [{ name: "x", context: { cluster: "one", user: "one-user" } }],
        "current-context": "x",
      },
    }),
    KUBECONFIG: "k1.yaml:k2.yaml",
    expected: seen("Bearer t1"),
  },
  {
    title: "the first file with a cluster, a context or a user of a name sets all of it",
    files: (servers) => ({
      "k1.yaml": config({
        cluster: { server: servers.one, "insecure-skip-tls-verify": true },
        user: { token: "t1" },
      }),
      "k2.yaml": config({
        cluster: { server: servers.two, ...ca, "tls-server-name": "api.test" },
        user: { token: "t2", as: "admin" },
      }),
    }),
    KUBECONFIG: "k1.yaml:k2.yaml",
    expected: seen("Bearer t1"),
  },
  {
    title: "missing and empty files, empty entries and duplicates do not count",
    files: (servers) => ({ "k1.yaml": one(servers), "empty.yaml": "", "comment.yaml": "# nothing\n" }),
    KUBECONFIG: ":missing.yaml:empty.yaml:comment.yaml::k1.yaml:k1.yaml:",
    expected: seen("Bearer t1"),
  },
  {
    title: "--kubeconfig counts alone",
    files: (servers) => ({ "k1.yaml": one(servers), "k2.yaml": two(servers) }),
    KUBECONFIG: "k1.yaml",
    flags: { kubeconfig: "k2.yaml" },
    expected: seen("Bearer t2", "two"),
  },
  {
    title: "--context counts before current-context, over all files",
    files: (servers) => ({ "k1.yaml": one(servers), "k2.yaml": two(servers) }),
    KUBECONFIG: "k1.yaml:k2.yaml",
    flags: { context: "two" },
    expected: seen("Bearer t2", "two"),
  },
  {
    title: "without KUBECONFIG ~/.kube/config counts",
    files: (servers) => ({ ".kube/config": two(servers), ".kube/api.crt": servers.authority }),
    expected: seen("Bearer t2", "two"),
  },
  {
    title: "of several documents the first one counts",
    files: (servers) => ({
      "k1.yaml": `---\n${JSON.stringify(one(servers))}\n---\n${JSON.stringify(two(servers))}\n`,
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer t1"),
  },
  {
    title: "YAML is that of version 1.1",
    files: ({ one }) => ({
      "k1.yaml": `clusters: [{name: one, cluster: {server: "${one}", insecure-skip-tls-verify: yes}}]\nusers: [{name: u, user: {token: t1}}]\ncontexts: [{name: one, context: {cluster: one, user: u}}]\ncurrent-context: one\n`,
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer t1"),
  },
  {
    title: "a pod's service account counts where no file has anything",
    files: (servers) => ({ "k1.yaml": "", token: "pod-token\n", "ca.crt": servers.authority }),
    KUBECONFIG: "k1.yaml:missing.yaml",
    inPod: true,
    expected: seen("Bearer pod-token", "two"),
  },
  {
    title: "a kubeconfig counts in a pod, too",
    files: (servers) => ({ "k1.yaml": one(servers), token: "pod-token" }),
    KUBECONFIG: "k1.yaml",
    inPod: true,
    expected: seen("Bearer t1"),
  },
  {
    title: "files that all are missing are named",
    files: () => ({}),
    KUBECONFIG: "a.yaml:b.yaml",
    expected: /no kubeconfig: .*a\.yaml, .*b\.yaml does not exist/,
  },
  {
    title: "a missing --kubeconfig is an error",
    files: (servers) => ({ "k1.yaml": one(servers) }),
    KUBECONFIG: "k1.yaml",
    flags: { kubeconfig: "missing.yaml" },
    expected: /missing\.yaml does not exist/,
  },
  {
    title: "a broken file is an error although another one is whole",
    files: (servers) => ({ "k1.yaml": one(servers), "k2.yaml": "clusters: [" }),
    KUBECONFIG: "k1.yaml:k2.yaml",
    expected: /k2\.yaml is not YAML: line 1/,
  },
  {
    title: "a field of another type is an error",
    files: (servers) => ({ "k1.yaml": one(servers, { token: 1234 }) }),
    KUBECONFIG: "k1.yaml",
    expected: /k1\.yaml is malformed: users\.0\.user\.token: .*string/,
  },
  {
    title: "a file of another kind is an error",
    files: () => ({ "k1.yaml": { apiVersion: "v1", kind: "Pod" } }),
    KUBECONFIG: "k1.yaml",
    expected: /k1\.yaml is malformed: kind/,
  },
  {
    title: "a name that a file has twice is an error",
    files: ({ one, two }) => ({
      "k1.yaml": {
        ...config({ user: { token: "t1" } }),
        clusters: [
          { name: "one", cluster: { server: one } },
          { name: "one", cluster: { server: two } },
        ],
      },
    }),
    KUBECONFIG: "k1.yaml",
    expected: /k1\.yaml has "one" twice in clusters/,
  },
  {
    title: "an unknown --context is an error that names the known ones",
    files: (servers) => ({ "k1.yaml": one(servers), "k2.yaml": two(servers) }),
    KUBECONFIG: "k1.yaml:k2.yaml",
    flags: { context: "three" },
    expected: /no context "three"; its contexts are: one, two/,
  },
  {
    title: "a current-context that is not there is an error",
    files: (servers) => ({ "k1.yaml": { ...one(servers), "current-context": "gone" } }),
    KUBECONFIG: "k1.yaml",
    expected: /no context "gone"; its contexts are: one/,
  },
  {
    title: "files without a chosen context are an error, also in a pod",
    files: (servers) => ({ "k1.yaml": { ...one(servers), "current-context": "" }, token: "pod-token" }),
    KUBECONFIG: "k1.yaml",
    inPod: true,
    expected: /no current-context: name one \(--context\); its contexts are: one/,
  },
  {
    title: "a context without its cluster is an error, also in a pod",
    files: (servers) => ({ "k1.yaml": { ...one(servers), clusters: [] }, token: "pod-token" }),
    KUBECONFIG: "k1.yaml",
    inPod: true,
    expected: /context "one" names the cluster "one", which .*k1\.yaml does not have/,
  },
  {
    title: "a context without its user is an error",
    files: (servers) => ({ "k1.yaml": { ...one(servers), users: [] } }),
    KUBECONFIG: "k1.yaml",
    expected: /context "one" names the user "one-user", which .*k1\.yaml does not have/,
  },
  // The API server.
  {
    title: "http is fine, and gets no credential",
    files: ({ plain }) => ({ "k1.yaml": config({ cluster: { server: plain }, user: { token: "t1" } }) }),
    KUBECONFIG: "k1.yaml",
    expected: seen(undefined, "plain"),
  },
  {
    title: "http needs no user, and runs no plugin",
    files: ({ plain }) => ({
      "k1.yaml": config({ cluster: { server: plain }, user: exec({ command: "./missing.sh" }) }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen(undefined, "plain"),
  },
  {
    title: "a server without a scheme is http",
    files: ({ plain }) => ({
      "k1.yaml": config({ cluster: { server: plain.replace("http://", "") }, user: { token: "t1" } }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen(undefined, "plain"),
  },
  {
    title: "tls-server-name is sent and checked instead of the address",
    files: ({ one }) => ({
      "k1.yaml": config({
        cluster: { server: one, ...ca, "tls-server-name": "api.test" },
        user: { token: "t1" },
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: { ...seen("Bearer t1"), sni: "api.test" },
  },
  {
    title: "the name of the server is sent",
    files: ({ one }) => ({
      "k1.yaml": config({
        cluster: { server: one.replace("127.0.0.1", "localhost"), ...ca },
        user: { token: "t1" },
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: { ...seen("Bearer t1"), sni: "localhost" },
  },
  {
    title: "certificate-authority is relative to its kubeconfig",
    files: (servers) => ({ "a/k1.yaml": one(servers), "a/api.crt": servers.authority, "api.crt": "" }),
    KUBECONFIG: "a/k1.yaml",
    expected: seen("Bearer t1"),
  },
  {
    title: "certificate-authority-data is base64",
    files: ({ one, authority }) => ({
      "k1.yaml": config({
        cluster: { server: one, "certificate-authority-data": Buffer.from(authority).toString("base64") },
        user: { token: "t1" },
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer t1"),
  },
  {
    title: "without an authority that of the system counts",
    files: ({ one }) => ({ "k1.yaml": config({ cluster: { server: one }, user: { token: "t1" } }) }),
    KUBECONFIG: "k1.yaml",
    expected: /certificate/,
  },
  {
    title: "an authority that is not PEM is an error",
    files: (servers) => ({ "k1.yaml": one(servers), "api.crt": "nothing" }),
    KUBECONFIG: "k1.yaml",
    expected: /certificate-authority .*api\.crt .*is not PEM/,
  },
  {
    title: "an authority beside insecure-skip-tls-verify is an error",
    files: ({ one }) => ({
      "k1.yaml": config({
        cluster: { server: one, ...ca, "insecure-skip-tls-verify": true },
        user: { token: "t1" },
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: /insecure-skip-tls-verify and a certificate authority exclude each other/,
  },
  ...(["httpProxy", "httpsProxy", "socksProxy"] as const).flatMap((proxy): KubeconfigCase[] => [
    {
      title: `proxy-url counts: ${proxy}, which alone knows the server's name`,
      files: (servers) => ({
        "k1.yaml": config({
          cluster: {
            server: servers.one.replace("127.0.0.1", "api.internal"),
            ...ca,
            "tls-server-name": proxy === "httpsProxy" ? "localhost" : "api.test",
            "proxy-url": servers[proxy].replace("127.0.0.1", "localhost"),
          },
          user: { token: "t1" },
        }),
      }),
      KUBECONFIG: "k1.yaml",
      expected: {
        ...seen("Bearer t1"),
        sni: proxy === "httpsProxy" ? "localhost" : "api.test",
        through: proxy.replace("Proxy", ""),
      },
    },
    {
      title: `proxy-url may have credentials: ${proxy}, to an address`,
      files: (servers) => ({
        "k1.yaml": config({
          cluster: { server: servers.one, ...ca, "proxy-url": servers[proxy].replace("//", "//me:p%20w@") },
          user: { token: "t1" },
        }),
      }),
      KUBECONFIG: "k1.yaml",
      expected: { ...seen("Bearer t1"), through: `${proxy.replace("Proxy", "")} as me:p w` },
    },
    {
      title: `proxy-url counts for http, too: ${proxy}`,
      files: (servers) => ({
        "k1.yaml": config({
          cluster: {
            server: servers.plain,
            "insecure-skip-tls-verify": proxy === "httpsProxy",
            "proxy-url": servers[proxy],
          },
        }),
      }),
      KUBECONFIG: "k1.yaml",
      // The authority of a proxy is that of the server, which http has none of.
      expected:
        proxy === "httpsProxy"
          ? /certificate/
          : { ...seen(undefined, "plain"), through: proxy.replace("Proxy", "") },
    },
  ]),
  {
    title: "another scheme of proxy-url is an error",
    files: ({ one }) => ({
      "k1.yaml": config({
        cluster: { server: one, ...ca, "proxy-url": "socks4://127.0.0.1" },
        user: { token: "t1" },
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: /proxy-url must be an http, https or socks5 URL/,
  },
  // Credentials.
  {
    title: "tokenFile is relative to its kubeconfig, and its content is trimmed",
    files: (servers) => ({
      "a/k1.yaml": one(servers, { tokenFile: "sa/token" }),
      "a/sa/token": "from-file\n",
      "a/api.crt": servers.authority,
    }),
    KUBECONFIG: "a/k1.yaml",
    expected: seen("Bearer from-file"),
  },
  {
    title: "a tokenFile counts before a token",
    files: (servers) => ({
      "k1.yaml": one(servers, { token: "inline", tokenFile: "token" }),
      token: "from-file",
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer from-file"),
  },
  {
    title: "a token counts where its tokenFile cannot be read",
    files: (servers) => ({ "k1.yaml": one(servers, { token: "inline", tokenFile: "missing" }) }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer inline"),
  },
  {
    title: "a missing tokenFile is an error",
    files: (servers) => ({ "k1.yaml": one(servers, { tokenFile: "missing" }) }),
    KUBECONFIG: "k1.yaml",
    expected: /tokenFile .*missing .*ENOENT/,
  },
  {
    title: "user and password",
    files: (servers) => ({ "k1.yaml": one(servers, { username: "me", password: "pass word" }) }),
    KUBECONFIG: "k1.yaml",
    expected: seen(`Basic ${Buffer.from("me:pass word").toString("base64")}`),
  },
  {
    title: "a token beside a password is an error",
    files: (servers) => ({ "k1.yaml": one(servers, { token: "t1", username: "me", password: "p" }) }),
    KUBECONFIG: "k1.yaml",
    expected: /a token and a password exclude each other/,
  },
  {
    title: "client certificate and key are relative to their kubeconfig",
    files: (servers) => ({
      "a/k1.yaml": one(servers, { "client-certificate": "../me.crt", "client-key": "me.key" }),
      "a/api.crt": servers.authority,
      "me.crt": servers.client.cert,
      "a/me.key": servers.client.key,
    }),
    KUBECONFIG: "a/k1.yaml",
    expected: { ...seen(), certificate: "worker" },
  },
  {
    title: "client certificate and key as base64, beside a token",
    files: (servers) => ({
      "k1.yaml": one(servers, {
        token: "t1",
        "client-certificate-data": Buffer.from(servers.client.cert).toString("base64"),
        "client-key-data": Buffer.from(servers.client.key).toString("base64"),
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: { ...seen("Bearer t1"), certificate: "worker" },
  },
  {
    title: "a client certificate without its key is an error",
    files: (servers) => ({
      "k1.yaml": one(servers, { "client-certificate": "me.crt" }),
      "me.crt": servers.client.cert,
    }),
    KUBECONFIG: "k1.yaml",
    expected: /the client certificate has no client-key/,
  },
  {
    title: "a client certificate as file and as data is an error",
    files: (servers) => ({
      "k1.yaml": one(servers, {
        "client-certificate": "me.crt",
        "client-certificate-data": Buffer.from(servers.client.cert).toString("base64"),
        "client-key": "me.key",
      }),
      "me.crt": servers.client.cert,
      "me.key": servers.client.key,
    }),
    KUBECONFIG: "k1.yaml",
    expected: /client-certificate and client-certificate-data exclude each other/,
  },
  {
    title: "impersonation",
    files: (servers) => ({
      "k1.yaml": one(servers, {
        token: "t1",
        as: "system:serviceaccount:a:b",
        "as-uid": "42",
        "as-groups": ["system:authenticated", "b, c"],
        "as-user-extra": { scopes: ["view", "edit"], "example.com/x%": ["1"] },
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: {
      ...seen("Bearer t1"),
      impersonate: [
        "impersonate-extra-example.com%2fx%25: 1",
        "impersonate-extra-scopes: edit",
        "impersonate-extra-scopes: view",
        "impersonate-group: b, c",
        "impersonate-group: system:authenticated",
        "impersonate-uid: 42",
        "impersonate-user: system:serviceaccount:a:b",
      ],
    },
  },
  {
    title: "impersonated groups without a user are an error",
    files: (servers) => ({ "k1.yaml": one(servers, { token: "t1", "as-groups": ["a"] }) }),
    KUBECONFIG: "k1.yaml",
    expected: /as-uid, as-groups and as-user-extra need as/,
  },
  ...["gcp", "azure", "openstack"].map(
    (name): KubeconfigCase => ({
      title: `the auth-provider ${name} is an error with the way out`,
      files: (servers) => ({
        "k1.yaml": one(servers, { "auth-provider": { name, config: { "access-token": "t" } } }),
      }),
      KUBECONFIG: "k1.yaml",
      expected: new RegExp(`auth-provider "${name}" is not supported: use a credential plugin`),
    }),
  ),
  {
    title: "the auth-provider oidc is an error here",
    files: (servers) => ({
      "k1.yaml": one(servers, {
        "auth-provider": {
          name: "oidc",
          config: { "idp-issuer-url": "https://idp.test", "client-id": "c", "id-token": "x" },
        },
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected:
      /auth-provider "oidc" is not supported: use a credential plugin \(exec, such as kubectl oidc-login\)/,
  },
  // Credential plugins.
  {
    title: "a plugin with a slash is relative to its kubeconfig",
    files: (servers) => ({
      "a/k1.yaml": one(servers, exec()),
      "a/plugin.sh": TOKEN_PLUGIN,
      "a/api.crt": servers.authority,
    }),
    KUBECONFIG: "a/k1.yaml",
    expected: seen("Bearer from-plugin"),
  },
  {
    title: "a plugin of v1beta1 needs no interactiveMode",
    files: (servers) => ({
      "k1.yaml": one(servers, { exec: { apiVersion: `${V1}beta1`, command: "./plugin.sh" } }),
      "plugin.sh": plugin({ token: "beta" }, `${V1}beta1`),
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer beta"),
  },
  {
    title: "a plugin gets arguments, variables, and the cluster if it wants to know",
    files: ({ one, authority, httpProxy }) => ({
      "k1.yaml": config({
        cluster: {
          server: one,
          ...ca,
          "tls-server-name": "api.test",
          "proxy-url": httpProxy,
          extensions: [
            { name: "other", extension: { no: true } },
            { name: "client.authentication.k8s.io/exec", extension: { audience: "x" } },
          ],
        },
        user: exec({ args: ["a b"], env: [{ name: "SECRET", value: "s" }], provideClusterInfo: true }),
      }),
      "api.crt": authority,
      "plugin.sh": `#!/bin/sh
printf '{"apiVersion":"${V1}","kind":"ExecCredential","status":{"token":"%s"}}' \
"$1.$SECRET"
printf %s "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/info.json"
`,
    }),
    KUBECONFIG: "k1.yaml",
    expected: { ...seen("Bearer a b.s"), sni: "api.test", through: "http" },
    info: ({ one, authority, httpProxy }) => ({
      kind: "ExecCredential",
      apiVersion: V1,
      spec: {
        cluster: {
          server: one,
          "tls-server-name": "api.test",
          "certificate-authority-data": Buffer.from(authority).toString("base64"),
          "proxy-url": httpProxy,
          config: { audience: "x" },
        },
        interactive: false,
      },
    }),
  },
  {
    title: "a plugin's client certificate",
    files: (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": plugin({
        clientCertificateData: servers.client.cert,
        clientKeyData: servers.client.key,
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: { ...seen(), certificate: "worker" },
  },
  {
    title: "a plugin may write YAML",
    files: (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": prints(`apiVersion: ${V1}\nkind: ExecCredential\nstatus: {token: yaml}`),
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer yaml"),
  },
  {
    title: "a plugin does not run beside a token",
    files: (servers) => ({ "k1.yaml": one(servers, { token: "t1", ...exec({ command: "./missing.sh" }) }) }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer t1"),
  },
  {
    title: "a plugin that is not installed is an error with its hint",
    files: (servers) => ({
      "k1.yaml": one(servers, exec({ command: "no-such-plugin", installHint: "brew install \u001b[1mit" })),
    }),
    KUBECONFIG: "k1.yaml",
    expected:
      /the credential plugin no-such-plugin of user "one-user" of .*k1\.yaml is not installed\. brew install \[1mit/,
  },
  {
    title: "a plugin that fails is an error with what it said",
    files: (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": "#!/bin/sh\necho log in first >&2\nexit 3\n",
    }),
    KUBECONFIG: "k1.yaml",
    expected: /plugin\.sh of user .* failed with exit code 3: log in first/,
  },
  {
    title: "a plugin of another version is an error",
    files: (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": plugin({ token: "x" }, `${V1}beta1`),
    }),
    KUBECONFIG: "k1.yaml",
    expected:
      /plugin\.sh of user .* returned .*v1beta1.* instead of an ExecCredential of client\.authentication\.k8s\.io\/v1$/,
  },
  {
    title: "a plugin without a credential is an error",
    files: (servers) => ({ "k1.yaml": one(servers, exec()), "plugin.sh": plugin({}) }),
    KUBECONFIG: "k1.yaml",
    expected: /returned neither a token nor a client certificate/,
  },
  {
    title: "a plugin's certificate without its key is an error",
    files: (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": plugin({ clientCertificateData: "x" }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: /returned a client certificate without its key/,
  },
  {
    title: "a plugin that writes something else is an error that does not quote it",
    files: (servers) => ({ "k1.yaml": one(servers, exec()), "plugin.sh": "#!/bin/sh\necho secret-token\n" }),
    KUBECONFIG: "k1.yaml",
    expected: /^(?!.*secret-token).* returned something else than JSON/,
  },
  {
    title: "a plugin that must have a terminal is an error without one",
    files: (servers) => ({
      "k1.yaml": one(servers, exec({ interactiveMode: "Always" })),
      "plugin.sh": TOKEN_PLUGIN,
    }),
    KUBECONFIG: "k1.yaml",
    expected: /needs a terminal \(interactiveMode Always\), and the worker has none/,
  },
  {
    title: "a plugin of v1 needs an interactiveMode",
    files: (servers) => ({
      "k1.yaml": one(servers, exec({ interactiveMode: undefined })),
      "plugin.sh": TOKEN_PLUGIN,
    }),
    KUBECONFIG: "k1.yaml",
    expected: /exec\.interactiveMode must be Never, IfAvailable or Always/,
  },
  {
    title: "a plugin of v1alpha1 is an error",
    files: (servers) => ({
      "k1.yaml": one(servers, exec({ apiVersion: `${V1}alpha1` })),
      "plugin.sh": TOKEN_PLUGIN,
    }),
    KUBECONFIG: "k1.yaml",
    expected: /exec\.apiVersion "client\.authentication\.k8s\.io\/v1alpha1" is none of/,
  },
  {
    title: "a server may have a path; its query does not count",
    files: ({ one }) => ({
      "k1.yaml": config({ cluster: { server: `${one}/a/b/?x=1#f`, ...ca }, user: { token: "t1" } }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: { ...seen("Bearer t1"), path: "/a/b/api" },
  },
  {
    title: "a user without credentials sends none",
    files: (servers) => ({ "k1.yaml": one(servers, {}) }),
    KUBECONFIG: "k1.yaml",
    expected: seen(),
    kubectl: "fails",
  },
  {
    title: "credentials in the server's URL are an error",
    files: (servers) => ({
      "k1.yaml": config({ cluster: { server: servers.one.replace("//", "//a:b@"), ...ca }, user: {} }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: /without credentials/,
  },
  {
    title: "a plugin does not run beside a password",
    files: (servers) => ({
      "k1.yaml": one(servers, { username: "me", ...exec({ command: "./missing.sh" }) }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen(`Basic ${Buffer.from("me:").toString("base64")}`),
  },
  {
    title: "a plugin does not run beside a client certificate",
    files: (servers) => ({
      "k1.yaml": one(servers, {
        "client-certificate": "me.crt",
        "client-key": "me.key",
        ...exec({ command: "./missing.sh" }),
      }),
      "me.crt": servers.client.cert,
      "me.key": servers.client.key,
    }),
    KUBECONFIG: "k1.yaml",
    expected: { ...seen(), certificate: "worker" },
  },
  {
    title: "an expired credential of a plugin is sent nevertheless",
    files: (servers) => ({
      "k1.yaml": one(servers, exec({ interactiveMode: "IfAvailable" })),
      "plugin.sh": plugin({ token: "expired", expirationTimestamp: "2001-01-01T00:00:00Z" }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer expired"),
  },
  {
    title: "an expiry of a plugin that is no time is an error",
    files: (servers) => ({
      "k1.yaml": one(servers, exec()),
      "plugin.sh": plugin({ token: "expired", expirationTimestamp: "soon" }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: /malformed status/,
  },
  {
    title: "a plugin that is not executable is an error",
    files: (servers) => ({ "k1.yaml": one(servers, exec({ command: "./plugin" })), plugin: TOKEN_PLUGIN }),
    KUBECONFIG: "k1.yaml",
    expected: /cannot be run/,
  },
  {
    title: "a folder in the place of a file is an error",
    files: (servers) => ({ "k1.yaml": one(servers), "dir/x": "" }),
    KUBECONFIG: "k1.yaml:dir",
    expected: /dir cannot be read/,
  },
  {
    title: "an authority as file and as data is an error",
    files: (servers) => ({
      "k1.yaml": config({
        cluster: {
          server: servers.one,
          ...ca,
          "certificate-authority-data": Buffer.from(servers.authority).toString("base64"),
        },
        user: { token: "t1" },
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: /certificate-authority and certificate-authority-data exclude each other/,
  },
  {
    title: "data that is not base64 is an error",
    files: (servers) => ({
      "k1.yaml": config({
        cluster: { server: servers.one, "certificate-authority-data": "-----BEGIN" },
        user: { token: "t1" },
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: /certificate-authority-data: is not base64/,
  },
  {
    title: "a missing authority is an error",
    files: (servers) => ({
      "k1.yaml": config({
        cluster: { server: servers.one, "certificate-authority": "missing.crt" },
        user: { token: "t1" },
      }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: /certificate-authority .*missing.crt.*ENOENT/,
  },
  {
    title: "unknown fields do not count, and of a key that is there twice the last one does",
    files: ({ one }) => ({
      "k1.yaml": `foo: 1\nclusters: [{name: one, cluster: {server: "https://nowhere.test", server: "${one}", insecure-skip-tls-verify: true, bar: x}}]\nusers: [{name: u, user: {token: t1}}]\ncontexts: [{name: one, context: {cluster: one, user: u}}]\ncurrent-context: one\n`,
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer t1"),
  },
  {
    title: "impersonation counts over http, too",
    files: ({ plain }) => ({
      "k1.yaml": config({ cluster: { server: plain }, user: { token: "t1", as: "me" } }),
    }),
    KUBECONFIG: "k1.yaml",
    expected: { ...seen(undefined, "plain"), impersonate: ["impersonate-user: me"] },
  },
  {
    title: "a context without a user sends no credential",
    files: (servers) => ({
      "k1.yaml": { ...one(servers), contexts: [{ name: "one", context: { cluster: "one" } }] },
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen(),
    kubectl: "fails",
  },
  {
    title: "what another context needs may be wrong",
    files: (servers) => ({
      "k1.yaml": {
        ...one(servers),
        users: [
          { name: "one-user", user: { token: "t1" } },
          { name: "other", user: { "auth-provider": { name: "gcp" } } },
        ],
      },
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer t1"),
  },
  {
    title: "YAML's merge keys count",
    files: ({ one }) => ({
      "k1.yaml": `x: &a {insecure-skip-tls-verify: true}\nclusters: [{name: one, cluster: {<<: *a, server: "${one}"}}]\nusers: [{name: u, user: {token: t1}}]\ncontexts: [{name: one, context: {cluster: one, user: u}}]\ncurrent-context: one\n`,
    }),
    KUBECONFIG: "k1.yaml",
    expected: seen("Bearer t1"),
  },
  {
    title: "a file of blanks does not count",
    files: (servers) => ({ "k0.yaml": "   \n\n", "k1.yaml": one(servers) }),
    KUBECONFIG: "k0.yaml:k1.yaml",
    expected: seen("Bearer t1"),
  },
];
