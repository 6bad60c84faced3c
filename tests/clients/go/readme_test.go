package tests

import (
	"go/format"
	"os"
	"strings"
	"testing"
)

// Goal: the adapter for Gin that README shows is the one that these tests run.
func TestTheAdapterOfReadme(t *testing.T) {
	readme, err := os.ReadFile("../../../clients/go/README.md")
	check(t, err)
	begin := strings.Index(string(readme), "func adapt(")
	shown, _, _ := strings.Cut(string(readme)[begin:], "```")
	adapter, err := os.ReadFile("gin.go")
	check(t, err)
	_, tested, _ := strings.Cut(string(adapter), "README.md.\n")
	equal(t, formatted(t, shown), formatted(t, tested))
}

// Go on one line each, so that it does not matter where lines are broken.
func formatted(t *testing.T, source string) string {
	text, err := format.Source([]byte(source))
	check(t, err)
	return strings.ReplaceAll(strings.Join(strings.Fields(string(text)), " "), "; ", " ")
}
