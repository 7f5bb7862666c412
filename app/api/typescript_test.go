package api

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write frontend/src/kernel/api.gen.ts")

const typesFile = "../../frontend/src/kernel/api.gen.ts"

func TestThePagesTypesAreTheGeneratedOnes(t *testing.T) {
	want := TypeScript()
	if *update {
		if err := os.WriteFile(typesFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(typesFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s differs from what app/api generates; run `make generate`", typesFile)
	}
}
