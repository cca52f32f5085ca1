// Package facts: how the Go programs print their transcripts: sections of facts, one fact a line.
package facts

import (
	"bufio"
	"crypto/md5"
	"fmt"
	"os"
	"strings"
)

func Section(name string) { fmt.Println("==", name) }

func Fact(name string, v interface{}) {
	fmt.Println(strings.ReplaceAll(fmt.Sprintf("%s: %v", name, v), "\n", "\\n"))
}

// Digest of a large value: its length and a checksum.
func Digest(b []byte) string { return fmt.Sprintf("%d bytes, md5 %x", len(b), md5.Sum(b)) }

type Value struct {
	Type string
	Text *string // nil is NULL
}

// Values of the table `values` beside this file.
func Values() (all []Value) {
	f, err := os.Open(os.Getenv("LIB") + "/values")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if cells := strings.SplitN(s.Text(), "\t", 3); cells[0][0] != '#' {
			v := Value{Type: cells[0]}
			if cells[2] != "\\N" {
				v.Text = &cells[2]
			}
			all = append(all, v)
		}
	}
	return all
}

func Must(err error) {
	if err != nil {
		panic(err)
	}
}
