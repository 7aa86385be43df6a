const MAX_LENGTH = 256

/** Control characters, line separators, lone surrogates and bidirectional overrides: they can forge a line of a log or a screen. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

/** A user, agent, profile or session name that can be stored and shown: not empty, not long, only printable characters. */
export function isPrintableName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_LENGTH && value.trim() !== '' && !UNPRINTABLE.test(value)
}
