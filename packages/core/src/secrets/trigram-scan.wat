;; Searches for the trigrams of trigram-table.ts, at sixteen positions at a time.
;; `vitest run packages/core/src/wasm-code.test.ts -u` assembles it into trigram-scan-code.ts.
(module
  ;; From 0 on: twelve tables of sixteen bytes. By the low or the high half of the first, second or third byte, they tell
  ;; which of eight groups contain a trigram with this half. Six tables are for the first eight groups, six for the others.
  ;; From 65536 on: 1 if the hash may be that of a trigram. From 131072 on: the bytes to search.
  (memory (export "memory") 4)

  ;; The first position from $at on where a trigram may be; $end if there is none. Memory after $end may be read, but has
  ;; no effect.
  (func (export "next") (param $at i32) (param $end i32) (result i32)
    (local $a v128) (local $b v128) (local $c v128)
    (local $a-low v128) (local $b-low v128) (local $c-low v128)
    (local $a-high v128) (local $b-high v128) (local $c-high v128)
    (local $first-a-low v128) (local $first-b-low v128) (local $first-c-low v128)
    (local $first-a-high v128) (local $first-b-high v128) (local $first-c-high v128)
    (local $other-a-low v128) (local $other-b-low v128) (local $other-c-low v128)
    (local $other-a-high v128) (local $other-b-high v128) (local $other-c-high v128)
    (local $found v128) (local $mask i32) (local $place i32) (local $last i32)
    (local $low-halves v128)
    (local.set $first-a-low (v128.load (i32.const 0)))
    (local.set $first-a-high (v128.load (i32.const 16)))
    (local.set $first-b-low (v128.load (i32.const 32)))
    (local.set $first-b-high (v128.load (i32.const 48)))
    (local.set $first-c-low (v128.load (i32.const 64)))
    (local.set $first-c-high (v128.load (i32.const 80)))
    (local.set $other-a-low (v128.load (i32.const 96)))
    (local.set $other-a-high (v128.load (i32.const 112)))
    (local.set $other-b-low (v128.load (i32.const 128)))
    (local.set $other-b-high (v128.load (i32.const 144)))
    (local.set $other-c-low (v128.load (i32.const 160)))
    (local.set $other-c-high (v128.load (i32.const 176)))
    (local.set $low-halves (i8x16.splat (i32.const 0x0f)))
    (local.set $last (i32.sub (local.get $end) (i32.const 2)))
    (loop $block
      (if (i32.ge_s (local.get $at) (local.get $last)) (then (return (local.get $end))))
      (local.set $a (v128.load (local.get $at)))
      (local.set $b (v128.load offset=1 (local.get $at)))
      (local.set $c (v128.load offset=2 (local.get $at)))
      (local.set $a-low (v128.and (local.get $a) (local.get $low-halves)))
      (local.set $b-low (v128.and (local.get $b) (local.get $low-halves)))
      (local.set $c-low (v128.and (local.get $c) (local.get $low-halves)))
      (local.set $a-high (i8x16.shr_u (local.get $a) (i32.const 4)))
      (local.set $b-high (i8x16.shr_u (local.get $b) (i32.const 4)))
      (local.set $c-high (i8x16.shr_u (local.get $c) (i32.const 4)))
      (local.set $found
        (v128.or
          (v128.and
            (v128.and
              (v128.and
                (i8x16.swizzle (local.get $first-a-low) (local.get $a-low))
                (i8x16.swizzle (local.get $first-a-high) (local.get $a-high)))
              (v128.and
                (i8x16.swizzle (local.get $first-b-low) (local.get $b-low))
                (i8x16.swizzle (local.get $first-b-high) (local.get $b-high))))
            (v128.and
              (i8x16.swizzle (local.get $first-c-low) (local.get $c-low))
              (i8x16.swizzle (local.get $first-c-high) (local.get $c-high))))
          (v128.and
            (v128.and
              (v128.and
                (i8x16.swizzle (local.get $other-a-low) (local.get $a-low))
                (i8x16.swizzle (local.get $other-a-high) (local.get $a-high)))
              (v128.and
                (i8x16.swizzle (local.get $other-b-low) (local.get $b-low))
                (i8x16.swizzle (local.get $other-b-high) (local.get $b-high))))
            (v128.and
              (i8x16.swizzle (local.get $other-c-low) (local.get $c-low))
              (i8x16.swizzle (local.get $other-c-high) (local.get $c-high))))))
      (if (v128.any_true (local.get $found))
        (then
          (local.set $mask (i8x16.bitmask (i8x16.ne (local.get $found) (v128.const i64x2 0 0))))
          (loop $candidate
            (local.set $place (i32.add (local.get $at) (i32.ctz (local.get $mask))))
            (if (i32.ge_s (local.get $place) (local.get $last)) (then (return (local.get $end))))
            ;; As `hashTrigram` in trigram-table.ts.
            (if
              (i32.load8_u offset=65536
                (i32.and
                  (i32.const 0xffff)
                  (i32.xor
                    (i32.xor
                      (i32.shl (i32.load8_u (local.get $place)) (i32.const 10))
                      (i32.shl (i32.load8_u offset=1 (local.get $place)) (i32.const 5)))
                    (i32.load8_u offset=2 (local.get $place)))))
              (then (return (local.get $place))))
            (local.set $mask (i32.and (local.get $mask) (i32.sub (local.get $mask) (i32.const 1))))
            (br_if $candidate (local.get $mask)))))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br $block))
    (unreachable)))
