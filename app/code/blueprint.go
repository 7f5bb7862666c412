package code

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// ErrNoBlueprint means that there is no blueprint with that name.
var ErrNoBlueprint = errors.New("there is no such blueprint")

// bundled holds one folder for each blueprint: blueprint.json, thumbnail.svg, and the gadget's files.
//
//go:embed blueprints
var bundled embed.FS

// shelf is the order in which blueprints are offered.
var shelf = []string{"board", "notes"}

// Blueprint is a gadget's code without data, ready to be made into a gadget.
type Blueprint struct {
	Name        string `json:"name"`        // lower case; what the command line takes
	Title       string `json:"title"`       // what a new gadget is called
	Description string `json:"description"` // one sentence
	Thumbnail   string `json:"-"`           // SVG source
	Files       Files  `json:"-"`
}

// Blueprints lists the blueprints that are part of the program, in the order in which they are offered.
func Blueprints() []Blueprint {
	list := make([]Blueprint, 0, len(shelf))
	for _, name := range shelf {
		b, err := readBlueprint(name)
		if err != nil {
			panic("code: a bundled blueprint is broken: " + err.Error()) // a mistake in this program, caught by its tests
		}
		list = append(list, b)
	}
	return list
}

// FindBlueprint returns the blueprint with that name. The error is ErrNoBlueprint and lists the names there are.
func FindBlueprint(name string) (Blueprint, error) {
	for _, known := range shelf {
		if known == name {
			return readBlueprint(name)
		}
	}
	return Blueprint{}, fmt.Errorf("%w: %q (there is: %s)", ErrNoBlueprint, name, strings.Join(shelf, ", "))
}

func readBlueprint(name string) (Blueprint, error) {
	b := Blueprint{Name: name, Files: Files{}}
	root := path.Join("blueprints", name)
	err := fs.WalkDir(bundled, root, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := bundled.ReadFile(p)
		if err != nil {
			return err
		}
		switch rel := strings.TrimPrefix(p, root+"/"); rel {
		case "blueprint.json":
			return json.Unmarshal(text, &b)
		case "thumbnail.svg":
			b.Thumbnail = string(text)
		default:
			b.Files[rel] = text
		}
		return nil
	})
	if err == nil && b.Name != name {
		err = fmt.Errorf("%s/blueprint.json names %q", root, b.Name)
	}
	return b, err
}
