package gen

import (
	"math/bits"

	"pgregory.net/rapid"
)

// Source is where every choice comes from. Index 0 is the simplest choice.
type Source interface {
	// Pick returns i with probability weights[i] / their sum; an i of weight 0 never. The sum must not be 0.
	Pick(weights []uint16) int
	// Below returns a number in [0, n), each equally likely. n must be at least 1.
	Below(n int) int
	// Group runs f, whose draws belong together: rapid tries to leave out groups as a whole.
	Group(f func())
}

// seeded is a splitmix64 generator.
type seeded uint64

func (s *seeded) next() uint64 {
	*s += 0x9e3779b97f4a7c15
	z := uint64(*s)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Below multiplies instead of dividing; what that favours is below 2^-40.
func (s *seeded) Below(n int) int {
	hi, _ := bits.Mul64(s.next(), uint64(n))
	return int(hi)
}

func (s *seeded) Pick(weights []uint16) int { return at(weights, s.Below(sum(weights))) }

func (s *seeded) Group(f func()) { f() }

// fromRapid draws whole numbers bit by bit, highest first, and rejects what is too large: rapid's ranges are far from
// uniform (an item of weight 1 in 100 came in 38 of 100 draws), its bits are fair, and smaller stays simpler.
type fromRapid struct{ t *rapid.T }

var bit = rapid.Bool()

func (r fromRapid) Below(n int) int {
	width := bits.Len(uint(n - 1))
	for {
		v := 0
		for i := 0; i < width; i++ {
			v <<= 1
			if bit.Draw(r.t, "") {
				v |= 1
			}
		}
		if v < n {
			return v
		}
	}
}

func (r fromRapid) Pick(weights []uint16) int { return at(weights, r.Below(sum(weights))) }

func (r fromRapid) Group(f func()) {
	rapid.Custom(func(*rapid.T) bool { // makes a group of the bit stream, which f draws from through r
		f()
		return true
	}).Draw(r.t, "")
}

func sum(weights []uint16) int {
	n := 0
	for _, w := range weights {
		n += int(w)
	}
	return n
}

// at finds the index that the n-th unit of weight belongs to.
func at(weights []uint16, n int) int {
	for i, w := range weights {
		if n < int(w) {
			return i
		}
		n -= int(w)
	}
	panic("gen: the weights changed while they were drawn from")
}

// chance is true in so many of 1,000 draws. False is the simpler choice.
func chance(s Source, permille int) bool {
	if permille <= 0 {
		return false
	}
	return s.Pick(odds[min(permille, 1000)][:]) == 1
}

// odds[p] is the pair of weights of a chance of p in 1,000; a table, so that no draw allocates.
var odds = func() (t [1001][2]uint16) {
	for p := range t {
		t[p] = [2]uint16{uint16(1000 - p), uint16(p)}
	}
	return
}()

func oneOf[T any](s Source, list []T) T { return list[s.Below(len(list))] }
