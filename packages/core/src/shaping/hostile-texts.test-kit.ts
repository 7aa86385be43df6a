import fc from 'fast-check'
import type { Preset } from './preset.ts'

const cell = fc.oneof(fc.string({ maxLength: 40 }), fc.string({ unit: 'grapheme', maxLength: 40 }))
const quoted = (value: string): string => `"${value.replaceAll('"', '""')}"`

/** Texts of every kind, and texts that look like another kind than they are. */
const parts: readonly fc.Arbitrary<string>[] = [
  fc.json({ maxDepth: 6 }),
  fc.array(fc.json({ maxDepth: 3 }), { maxLength: 80 }).map((values) => `[${values.join(',')}]`),
  fc.dictionary(cell, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 60 }).map((value) => JSON.stringify(value, null, 2)),
  fc.array(fc.json({ maxDepth: 2 }), { maxLength: 80 }).map((values) => values.join('\n')),
  fc
    .array(fc.tuple(cell, cell, cell), { minLength: 3, maxLength: 80 })
    .map((rows) => ['id,name,text', ...rows.map((row) => row.map(quoted).join(','))].join('\n')),
  fc.array(cell, { maxLength: 120 }).map((lines) => lines.map((line) => `[INFO] {${line}}`).join('\n')),
  fc.array(cell, { maxLength: 120 }).map((lines) => lines.map((line, index) => `## ${index}\n${line}\n`).join('\n')),
  fc
    .array(cell, { maxLength: 120 })
    .map((lines) => `<!doctype html>${lines.map((line) => `<p>${line}</p>`).join('\n')}`),
  fc.array(cell, { maxLength: 120 }).map((lines) => lines.map((line, index) => `k${index}: ${line}`).join('\n')),
  fc.string({ unit: 'grapheme', maxLength: 2_000 }),
  fc.string({ unit: 'binary', maxLength: 2_000 }),
  fc
    .constantFrom('👨‍👩‍👧‍👦', '\ud800', '\udc00', '"', '\\', '<', '\r\n', 'é', '[', '{"a":', '<!--', '\u0000', '`')
    .chain((piece) => fc.integer({ min: 1, max: 3_000 }).map((times) => piece.repeat(times))),
]

/** Repeated, so that most exceed the threshold. */
export const hostileTexts: fc.Arbitrary<string> = fc.oneof(
  ...parts,
  fc.tuple(fc.oneof(...parts), fc.integer({ min: 2, max: 40 })).map(([text, times]) => text.repeat(times)),
  fc.tuple(fc.oneof(...parts), fc.oneof(...parts)).map(([one, other]) => `${one}\n${other}`),
  fc.oneof(...parts).map((text) => JSON.stringify(text.repeat(5))),
)

const ends = fc.record({ head: fc.integer({ min: 0, max: 60 }), tail: fc.integer({ min: 0, max: 30 }) })

/** All presets that `readPresets` accepts. */
export const anyPreset: fc.Arbitrary<Preset> = fc.record({
  threshold: fc.integer({ min: 400, max: 6_000 }),
  previewTokens: fc.integer({ min: 150, max: 2_000 }),
  rows: ends,
  lines: ends,
  items: ends,
  keys: fc.integer({ min: 1, max: 40 }),
  mediaBytes: fc.constant(1_000),
  fills: fc.boolean(),
})
