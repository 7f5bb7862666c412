package code

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// ErrNoCode means that a gadget has no commit.
var ErrNoCode = errors.New("the gadget has no code")

// Repository is the bare git repository of one workspace. The branch of a gadget is named gadgets/<id>; its tip is the
// gadget's current code. Methods may be called from any goroutine; writers take turns.
type Repository struct {
	mu  sync.Mutex
	git *git.Repository
}

// Open opens the bare repository in dir, making it if dir is missing or empty.
func Open(dir string) (*Repository, error) {
	repo, err := git.PlainOpen(dir)
	if errors.Is(err, git.ErrRepositoryNotExists) {
		repo, err = git.PlainInit(dir, true)
	}
	if err != nil {
		return nil, fmt.Errorf("code: open %s: %w", dir, err)
	}
	return &Repository{git: repo}, nil
}

// Change says who commits and why.
type Change struct {
	Author  string
	Message string
	Time    time.Time
}

func branch(gadget string) plumbing.ReferenceName {
	return plumbing.NewBranchReferenceName("gadgets/" + gadget)
}

// Commit makes files the gadget's current code and returns the commit's hash. Files that equal the current ones make no
// commit: the answer is the current hash. The branch moves last, so a crash leaves the old code or the new.
func (r *Repository) Commit(gadget string, files Files, c Change) (string, error) {
	if err := files.Check(); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	tree, err := r.writeTree(files, "")
	if err != nil {
		return "", fmt.Errorf("code: commit %s: %w", gadget, err)
	}
	var parents []plumbing.Hash
	head, err := r.head(gadget)
	switch {
	case err == nil && head.TreeHash == tree:
		return head.Hash.String(), nil
	case err == nil:
		parents = []plumbing.Hash{head.Hash}
	case !errors.Is(err, ErrNoCode):
		return "", err
	}
	who := object.Signature{Name: c.Author, Email: "nobody@localhost", When: c.Time}
	hash, err := r.writeObject(&object.Commit{Author: who, Committer: who, Message: c.Message, TreeHash: tree, ParentHashes: parents})
	if err == nil {
		err = r.git.Storer.SetReference(plumbing.NewHashReference(branch(gadget), hash))
	}
	if err == nil && len(parents) == 0 {
		err = r.pointHead(gadget)
	}
	if err != nil {
		return "", fmt.Errorf("code: commit %s: %w", gadget, err)
	}
	return hash.String(), nil
}

// pointHead makes the repository's HEAD name a branch that exists, so that a plain clone checks something out.
func (r *Repository) pointHead(gadget string) error {
	if _, err := r.git.Head(); err == nil {
		return nil
	}
	return r.git.Storer.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, branch(gadget)))
}

// Remove deletes the gadget's branch. Its commits stay until git collects them.
func (r *Repository) Remove(gadget string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.git.Storer.RemoveReference(branch(gadget))
}

// Head returns the hash of the gadget's current commit and the files in it.
func (r *Repository) Head(gadget string) (string, Files, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	commit, err := r.head(gadget)
	if err != nil {
		return "", nil, err
	}
	iter, err := commit.Files()
	if err != nil {
		return "", nil, fmt.Errorf("code: read %s: %w", gadget, err)
	}
	files := Files{}
	err = iter.ForEach(func(f *object.File) error {
		reader, err := f.Reader()
		if err != nil {
			return err
		}
		defer reader.Close()
		files[f.Name], err = io.ReadAll(io.LimitReader(reader, maxBytes+1))
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("code: read %s: %w", gadget, err)
	}
	return commit.Hash.String(), files, nil
}

func (r *Repository) head(gadget string) (*object.Commit, error) {
	ref, err := r.git.Reference(branch(gadget), true)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil, fmt.Errorf("code: %s: %w", gadget, ErrNoCode)
	}
	if err != nil {
		return nil, fmt.Errorf("code: read %s: %w", gadget, err)
	}
	commit, err := r.git.CommitObject(ref.Hash())
	if err != nil {
		return nil, fmt.Errorf("code: read %s: %w", gadget, err)
	}
	return commit, nil
}

// writeTree stores the files below prefix and returns the tree's hash.
func (r *Repository) writeTree(files Files, prefix string) (plumbing.Hash, error) {
	var tree object.Tree
	done := map[string]bool{}
	for _, path := range files.Paths() {
		rest, below := strings.CutPrefix(path, prefix)
		if !below {
			continue
		}
		name, _, nested := strings.Cut(rest, "/")
		if done[name] {
			continue
		}
		done[name] = true
		entry := object.TreeEntry{Name: name, Mode: filemode.Regular}
		var err error
		if nested {
			entry.Mode = filemode.Dir
			entry.Hash, err = r.writeTree(files, prefix+name+"/")
		} else {
			entry.Hash, err = r.writeBlob(files[path])
		}
		if err != nil {
			return plumbing.ZeroHash, err
		}
		tree.Entries = append(tree.Entries, entry)
	}
	slices.SortFunc(tree.Entries, func(a, b object.TreeEntry) int { return strings.Compare(sortKey(a), sortKey(b)) })
	return r.writeObject(&tree)
}

// sortKey is git's order of tree entries: a folder sorts as if its name ended in a slash.
func sortKey(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

func (r *Repository) writeBlob(content []byte) (plumbing.Hash, error) {
	o := r.git.Storer.NewEncodedObject()
	o.SetType(plumbing.BlobObject)
	w, err := o.Writer()
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return r.git.Storer.SetEncodedObject(o)
}

func (r *Repository) writeObject(v interface {
	Encode(plumbing.EncodedObject) error
}) (plumbing.Hash, error) {
	o := r.git.Storer.NewEncodedObject()
	if err := v.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return r.git.Storer.SetEncodedObject(o)
}
