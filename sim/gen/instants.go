package gen

import "mcpsim/model"

// instants are the times that delays and advances share: without that, nothing ever meets. First come the debounce and
// what is near it, then the limits of the specification, ± 1.
var instants = []model.Ms{
	0, 1, 100, 299, 300, 301, 600, // WAT-2
	499, 500, 501, 1000, // REC-13 close to terminate; D-4, REC-13 the first retry, alive after the kill
	1999, 2000, 2001, 2500, // WAT-9 poll; REC-13 terminate to kill
	2999, 3000, 3001, 3499, 3500, 3501, // WAT-2 at most; REC-13 stuck
	4999, 5000, 5001, // REC-7 remote, APR-9
	29999, 30000, 30001, // REC-7 stdio, POOL-3, WAT-6
}

var (
	smallInstants = []uint16{8, 7, 5, 9, 16, 7, 10, 0, 0, 0, 2}
	allInstants   = []uint16{6, 6, 4, 9, 16, 7, 9, 2, 2, 2, 4, 2, 2, 2, 2, 1, 2, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}
	delayInstants = []uint16{3, 10, 12, 8, 8, 8, 8, 3, 3, 3, 6, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}
	drainInstants = []model.Ms{30000, 30000, 29999, 30001, 0, 300}
)

// instant draws a time that passes.
func (b *builder) instant() model.Ms {
	if b.has(fLimits) {
		return instants[b.s.Pick(allInstants)]
	}
	return instants[b.s.Pick(smallInstants)]
}

// delay draws how long a server takes.
func (b *builder) delay() model.Ms {
	if b.has(fLimits) {
		return instants[b.s.Pick(delayInstants)]
	}
	return instants[b.s.Pick(delayInstants[:11])]
}
