package gen

// Every runs draw once for each sequence of choices it can make, in order, at most limit times, and returns how often
// it ran and whether that was all. Weights do not matter, except that a choice of weight 0 is none.
func Every(limit int, draw func(Source)) (runs int, all bool) {
	var o odometer
	for runs < limit {
		o.at = 0
		draw(&o)
		runs++
		if !o.turn() {
			return runs, true
		}
	}
	return runs, false
}

// odometer is a source that counts: each digit is one choice, the last turns fastest.
type odometer struct {
	digits []digit
	at     int
}

type digit struct{ value, of int }

func (o *odometer) Below(n int) int {
	if o.at == len(o.digits) {
		o.digits = append(o.digits, digit{of: n})
	}
	d := o.digits[o.at]
	if d.of != n {
		panic("gen: a walk over every choice needs choices that depend on earlier choices only")
	}
	o.at++
	return d.value
}

func (o *odometer) Pick(weights []uint16) int {
	n := 0
	for _, w := range weights {
		if w > 0 {
			n++
		}
	}
	k := o.Below(n)
	for i, w := range weights {
		if w > 0 {
			if k == 0 {
				return i
			}
			k--
		}
	}
	panic("gen: unreachable")
}

func (o *odometer) Group(f func()) { f() }

// turn goes on to the next number; false after the last.
func (o *odometer) turn() bool {
	o.digits = o.digits[:o.at]
	for i := len(o.digits) - 1; i >= 0; i-- {
		if o.digits[i].value+1 < o.digits[i].of {
			o.digits[i].value++
			o.digits = o.digits[:i+1]
			return true
		}
	}
	return false
}
