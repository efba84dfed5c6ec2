package sim

import "slices"

// queue is a first-in first-out queue that can also be put back into.
type queue struct {
	items []*sequence
	head  int
}

func (q *queue) len() int         { return len(q.items) - q.head }
func (q *queue) front() *sequence { return q.items[q.head] }
func (q *queue) push(s *sequence) { q.items = append(q.items, s) }

func (q *queue) pop() {
	q.items[q.head] = nil
	q.head++
	if q.head > 64 && q.head > len(q.items)/2 {
		q.items = append(q.items[:0:0], q.items[q.head:]...)
		q.head = 0
	}
}

func (q *queue) unshift(s *sequence) {
	if q.head == 0 {
		q.items = append([]*sequence{nil}, q.items...)
		q.head = 1
	}
	q.head--
	q.items[q.head] = s
}

func (q *queue) sweep() {
	q.items = slices.DeleteFunc(q.items[q.head:], func(s *sequence) bool { return s.aborted })
	q.head = 0
}
