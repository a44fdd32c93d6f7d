// SPDX-License-Identifier: Apache-2.0

package treesize

import (
	"cmp"
	"container/heap"
	"slices"
)

// A ranking keeps the largest.
type ranking[T any] struct {
	most int
	size func(T) uint64
	list []T // a heap, the smallest first
}

// least is the size that nothing of that size or below is kept.
func (r *ranking[T]) least() uint64 {
	if len(r.list) < r.most {
		return 0
	}
	return r.size(r.list[0])
}

func (r *ranking[T]) add(one T) {
	if r.size(one) <= r.least() {
		return
	}
	heap.Push(r, one)
	if len(r.list) > r.most {
		heap.Pop(r)
	}
}

// each returns what make makes of each.
func each[T, R any](list []T, make func(T) R) (made []R) {
	for _, one := range list {
		made = append(made, make(one))
	}
	return made
}

// largestFirst sorts a list.
func largestFirst[T any](list []T, size func(T) uint64, name func(T) string) []T {
	slices.SortFunc(list, func(a, b T) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(name(a), name(b)))
	})
	return list
}

// Len, Less, Swap, Push and Pop are for package heap.
func (r *ranking[T]) Len() int           { return len(r.list) }
func (r *ranking[T]) Less(i, j int) bool { return r.size(r.list[i]) < r.size(r.list[j]) }
func (r *ranking[T]) Swap(i, j int)      { r.list[i], r.list[j] = r.list[j], r.list[i] }
func (r *ranking[T]) Push(x any)         { r.list = append(r.list, x.(T)) } //nolint:forcetypeassert // package heap hands back what add gave it
func (r *ranking[T]) Pop() any {
	last := r.list[len(r.list)-1]
	clear(r.list[len(r.list)-1:])
	r.list = r.list[:len(r.list)-1]
	return last
}
