// Reads Kubernetes manifests from standard input and decodes each strictly into its type of k8s.io/api: unknown, repeated and ill-typed
// fields are errors. It prints every object as a line of JSON, with the defaults left out.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	options := serializer.SerializerOptions{Yaml: true, Strict: true}
	decoder := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, scheme, scheme, options)
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	failed := false
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			panic(err)
		}
		object, kind, err := decoder.Decode(document, nil, nil)
		if err != nil {
			if runtime.IsMissingKind(err) && len(document) < 200 { // a document of comments alone
				continue
			}
			fmt.Fprintf(os.Stderr, "%v: %v\n%s\n", kind, err, document)
			failed = true
			continue
		}
		line, err := json.Marshal(object)
		if err != nil {
			panic(err)
		}
		fmt.Println(string(line))
	}
	if failed {
		os.Exit(1)
	}
}
