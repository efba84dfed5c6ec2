package cluster

import (
	"net/http"
	"path/filepath"
	"slices"
)

// account is the exporter's service account, as deploy/ names it.
const (
	home    = "goodput-system"
	account = "goodput-exporter"
)

const rbac = "/apis/rbac.authorization.k8s.io/v1"

// open has the exporter's account, its right to follow all pods, a token for it, and the namespace serving.
func (c *cluster) open() {
	c.newAccount()
	c.allow()
	c.tokenFile("")
	c.namespace("serving")
}

// newAccount makes the exporter's namespace and service account as deploy/kustomize/base has them, and returns the uid of the
// account.
func (c *cluster) newAccount() (uid string) {
	c.t.Helper()
	c.install(with(c.t, "base"), "", "Namespace", "ServiceAccount")
	made, err := c.get("/api/v1/namespaces/" + home + "/serviceaccounts/" + account)
	c.must(err)
	return text(made, "metadata", "uid")
}

// allow lets the account do what the base lets it do.
func (c *cluster) allow() {
	c.t.Helper()
	c.install(with(c.t, "base"), "", "ClusterRole", "ClusterRoleBinding")
}

// allowIn lets it do what examples/namespaces lets it do in one namespace.
func (c *cluster) allowIn(namespace string) {
	c.t.Helper()
	c.install(with(c.t, "examples/namespaces"), namespace, "Role", "RoleBinding")
}

// install creates the objects of some kinds; of one namespace, where that is not empty.
func (c *cluster) install(all []manifest, namespace string, only ...string) {
	c.t.Helper()
	known, n := c.paths("v1", "rbac.authorization.k8s.io/v1"), 0
	for _, m := range all {
		if slices.Contains(only, m.kind) && (namespace == "" || m.namespace == namespace) {
			c.must(c.apply(known, m, false))
			n++
		}
	}
	if n < len(only) {
		c.t.Fatalf("%d objects of the kinds %q in %q, want one of each", n, only, namespace)
	}
}

// tokenFile asks the server for a token of the account, as the kubelet does for a pod, and writes it where it is read. With
// a secret's name, it is worth something only while there is that secret.
func (c *cluster) tokenFile(secret string) string {
	c.t.Helper()
	spec := object{"expirationSeconds": 3600}
	if secret != "" {
		c.must(c.create("/api/v1/namespaces/"+home+"/secrets", object{"metadata": object{"name": secret}}))
		spec["boundObjectRef"] = object{"kind": "Secret", "apiVersion": "v1", "name": secret}
	}
	var made object
	c.must(c.do(http.MethodPost, "/api/v1/namespaces/"+home+"/serviceaccounts/"+account+"/token", object{"spec": spec}, &made))
	return c.keep(text(made, "status", "token"))
}

func (c *cluster) keep(token string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, "token")
	write(c.t, path, token)
	return path
}

// ca is the file of the authority that the servers' certificates are from.
func (c *cluster) ca() string { return filepath.Join(c.dir, "ca.crt") }
