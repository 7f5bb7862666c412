package store

import (
	"encoding/json"
	"fmt"

	"go.etcd.io/bbolt"
)

// Collection is a named set of records of type T, each with an id. T must survive a trip through encoding/json.
type Collection[T any] struct {
	name string
}

// NewCollection names a collection. It must be listed in the Schema of every file it is used with.
func NewCollection[T any](name string) Collection[T] { return Collection[T]{name} }

// Name is the name that a Schema lists.
func (c Collection[T]) Name() string { return c.name }

func (c Collection[T]) bucket(tx *Tx) (*bbolt.Bucket, error) {
	b := tx.bolt.Bucket([]byte(c.name))
	if b == nil {
		return nil, fmt.Errorf("%w: collection %q is missing", ErrDamaged, c.name)
	}
	return b, nil
}

// Read returns the record with that id, or an error that is ErrNotFound.
func (c Collection[T]) Read(tx *Tx, id string) (T, error) {
	var record T
	b, err := c.bucket(tx)
	if err != nil {
		return record, err
	}
	text := b.Get([]byte(id))
	if text == nil {
		return record, fmt.Errorf("%s %q: %w", c.name, id, ErrNotFound)
	}
	return c.decode(id, text)
}

func (c Collection[T]) decode(id string, text []byte) (T, error) {
	var record T
	if err := json.Unmarshal(text, &record); err != nil {
		return record, fmt.Errorf("%w: %s %q cannot be read: %v", ErrDamaged, c.name, id, err)
	}
	return record, nil
}

// Write stores the record under id, replacing what was there. An id is not empty.
func (c Collection[T]) Write(tx *Tx, id string, record T) error {
	b, err := c.bucket(tx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("%s %q: %w", c.name, id, err)
	}
	return b.Put([]byte(id), text)
}

// Delete removes the record; one that is not there is no error.
func (c Collection[T]) Delete(tx *Tx, id string) error {
	b, err := c.bucket(tx)
	if err != nil {
		return err
	}
	return b.Delete([]byte(id))
}

// Each calls f for every record in the order of their ids, until f returns an error, which Each returns.
func (c Collection[T]) Each(tx *Tx, f func(id string, record T) error) error {
	b, err := c.bucket(tx)
	if err != nil {
		return err
	}
	return b.ForEach(func(key, text []byte) error {
		record, err := c.decode(string(key), text)
		if err != nil {
			return err
		}
		return f(string(key), record)
	})
}
