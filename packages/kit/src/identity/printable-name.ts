const MAX_LENGTH = 256

/** Control characters, line separators, halves of surrogate pairs and bidirectional overrides: what can forge a line of a log or a screen. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/** A user, agent, profile or session name that can be kept and shown: not empty, not long, nothing unprintable. */
export function isPrintableName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_LENGTH && value.trim() !== '' && !UNPRINTABLE.test(value)
}
