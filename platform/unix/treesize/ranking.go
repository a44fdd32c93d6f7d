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
	name func(T) string
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

// sorted returns what is kept, the largest first.
func (r *ranking[T]) sorted() []T {
	list := slices.Clone(r.list)
	slices.SortFunc(list, func(a, b T) int {
		return cmp.Or(cmp.Compare(r.size(b), r.size(a)), cmp.Compare(r.name(a), r.name(b)))
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
	r.list = r.list[:len(r.list)-1]
	return last
}
