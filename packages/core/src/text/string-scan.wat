;; Skips the inside of a JSON string, sixteen bytes at a time.
;; `vitest run packages/core/src/wasm-code.test.ts -u` assembles it into string-scan-code.ts.
(module
  ;; From 0 on, by the letter after a backslash: the length of the escape, 0 if it is invalid.
  ;; From 256 on: which bytes are hexadecimal digits. From 1024 on: the text.
  (memory (export "memory") 2)
  (data (i32.const 0x22) "\02")
  (data (i32.const 0x2f) "\02")
  (data (i32.const 0x5c) "\02")
  (data (i32.const 0x62) "\02\00\00\00\02") ;; b f
  (data (i32.const 0x6e) "\02\00\00\00\02\00\02\06") ;; n r t u
  (data (i32.const 0x130) "\01\01\01\01\01\01\01\01\01\01")
  (data (i32.const 0x141) "\01\01\01\01\01\01")
  (data (i32.const 0x161) "\01\01\01\01\01\01")

  ;; The position of the closing quote, of a byte that is not allowed, or of an escape that is invalid or continues after
  ;; $end; otherwise $end. Memory after $end may be read, but has no effect.
  (func (export "pass") (param $at i32) (param $end i32) (result i32)
    (local $bytes v128) (local $mask i32) (local $place i32) (local $next i32)
    (loop $block
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (local.get $end))))
      (local.set $bytes (v128.load (local.get $at)))
      (local.set $mask
        (i8x16.bitmask
          (v128.or
            (i8x16.lt_u (local.get $bytes) (i8x16.splat (i32.const 0x20)))
            (v128.or
              (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x22)))
              (i8x16.eq (local.get $bytes) (i8x16.splat (i32.const 0x5c)))))))
      (block $plain
        (loop $special
          (br_if $plain (i32.eqz (local.get $mask)))
          (local.set $place (i32.add (local.get $at) (i32.ctz (local.get $mask))))
          (if (i32.ge_u (local.get $place) (local.get $end)) (then (return (local.get $end))))
          (if (i32.ne (i32.load8_u (local.get $place)) (i32.const 0x5c)) (then (return (local.get $place))))
          (local.set $next (i32.add (local.get $place) (i32.load8_u (i32.load8_u offset=1 (local.get $place)))))
          (if (i32.eq (local.get $next) (local.get $place)) (then (return (local.get $place))))
          (if (i32.eq (local.get $next) (i32.add (local.get $place) (i32.const 6)))
            (then (if (i32.eqz (call $has-digits (local.get $place))) (then (return (local.get $place))))))
          (if (i32.gt_u (local.get $next) (local.get $end)) (then (return (local.get $place))))
          (if (i32.ge_u (local.get $next) (i32.add (local.get $at) (i32.const 16)))
            (then
              (local.set $at (local.get $next))
              (br $block)))
          ;; The bytes of the escape are no longer special.
          (local.set $mask
            (i32.and
              (local.get $mask)
              (i32.shl (i32.const -1) (i32.sub (local.get $next) (local.get $at)))))
          (br $special)))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br $block))
    (unreachable))

  (func $has-digits (param $at i32) (result i32)
    (i32.and
      (i32.and (call $hex (i32.load8_u offset=2 (local.get $at))) (call $hex (i32.load8_u offset=3 (local.get $at))))
      (i32.and (call $hex (i32.load8_u offset=4 (local.get $at))) (call $hex (i32.load8_u offset=5 (local.get $at))))))

  (func $hex (param $byte i32) (result i32)
    (i32.load8_u offset=256 (local.get $byte))))
