package deploy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// apiServer has pods, lets an account do what the roles of a world give it, and notes what is asked of it.
type apiServer struct {
	pods    []corev1.Pod
	granted map[string]bool // as permissions has them

	mu      sync.Mutex
	asked   map[string]bool // the same of what was asked for and granted
	refused []string
}

func (a *apiServer) start(t *testing.T) (url string) {
	a.asked = map[string]bool{}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	return s.URL
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	namespace := ""
	rest, is := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/")
	if is {
		namespace, rest, _ = strings.Cut(rest, "/")
	} else {
		rest = strings.TrimPrefix(r.URL.Path, "/api/v1/")
	}
	verb := "list"
	if r.FormValue("watch") != "" && r.FormValue("watch") != "false" && r.FormValue("watch") != "0" {
		verb = "watch"
	}
	if rest != "pods" || !a.grants(verb, namespace) {
		// As an API server has it; the words do not matter.
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: verb + " is forbidden"})
		return
	}
	if verb == "watch" {
		// Nothing ever happens.
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	selector, err := fields.ParseSelector(r.FormValue("fieldSelector"))
	if err != nil || r.FormValue("labelSelector") != "" {
		http.Error(w, fmt.Sprintf("selectors %v: %v", r.Form, err), http.StatusBadRequest)
		return
	}
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []corev1.Pod{}}
	for _, p := range a.pods {
		if (namespace == "" || namespace == p.Namespace) && selector.Matches(fields.Set{"spec.nodeName": p.Spec.NodeName}) {
			list.Items = append(list.Items, p)
		}
	}
	_ = json.NewEncoder(w).Encode(list)
}

// grants is whether an account may do something to pods of a namespace, by a role there or everywhere.
func (a *apiServer) grants(verb, namespace string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, ns := range []string{namespace, ""} {
		if p := fmt.Sprintf("%s /pods in %q", verb, ns); a.granted[p] {
			a.asked[p] = true
			return true
		}
	}
	a.refused = append(a.refused, fmt.Sprintf("%s pods in %q", verb, namespace))
	return false
}

// said is what was asked of it.
func (a *apiServer) said() (asked map[string]bool, refused []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked, a.refused
}

// runs is a pod as a Deployment makes it, once it is ready.
func runs(template corev1.PodTemplateSpec, namespace, of, node, ip string) corev1.Pod {
	const hash = "5d4f8c6b7"
	p := corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	if p.Labels == nil {
		p.Labels = map[string]string{}
	}
	p.Labels["pod-template-hash"] = hash
	controller := true
	p.Name, p.Namespace, p.UID, p.ResourceVersion = of+"-"+hash+"-x2z4v", namespace, "6a2c9f0e-0f5a-4d0c-9b8e-7d1d8f6f2c11", "5"
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: of + "-" + hash, UID: "1", Controller: &controller}}
	p.Spec.NodeName = node
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}}
	for _, c := range template.Spec.Containers {
		started := true
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Ready: true, Started: &started, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	}
	return p
}
