//go:build linux && cgo

package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// bindsAtStart lists the marks in a binary that make the loader look for all functions before it runs.
func bindsAtStart(t *testing.T, f *elf.File) (marks []string) {
	t.Helper()
	values := func(tag elf.DynTag) []uint64 {
		v, err := f.DynValue(tag)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for tag, now := range map[elf.DynTag]uint64{elf.DT_FLAGS: uint64(elf.DF_BIND_NOW), elf.DT_FLAGS_1: uint64(elf.DF_1_NOW)} {
		if slices.ContainsFunc(values(tag), func(v uint64) bool { return v&now != 0 }) {
			marks = append(marks, tag.String())
		}
	}
	if len(values(elf.DT_BIND_NOW)) != 0 {
		marks = append(marks, elf.DT_BIND_NOW.String())
	}
	return marks
}

func opened(t *testing.T, path string) *elf.File {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestTheBinaryBindsLazily: bound at its start, as hardened builds do it, the program would need all 56 functions that
// go-dcgm mentions before it runs at all, and could not say what is missing.
func TestTheBinaryBindsLazily(t *testing.T) {
	needsCompiler(t)
	f := opened(t, built)
	if marks := bindsAtStart(t, f); marks != nil {
		t.Errorf("the binary has %v: link with -extldflags=-Wl,-z,lazy", marks)
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(libraries, libraryName) {
		t.Errorf("%s is needed at the start of the binary, so that its absence cannot be explained", libraryName)
	}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == "dcgmEntitiesGetLatestValues" && s.Section == elf.SHN_UNDEF }) {
		t.Error("the binary does not look for DCGM's functions: this test looks at the wrong file")
	}
}

// TestBindingAtTheStartIsSeen shows the test above what it must find.
func TestBindingAtTheStartIsSeen(t *testing.T) {
	needsCompiler(t)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
	if err := os.WriteFile(source, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-Wl,-z,now", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if marks := bindsAtStart(t, opened(t, program)); marks == nil {
		t.Error("a binary that was linked with -z now passes")
	}
}
