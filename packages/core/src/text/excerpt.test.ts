import { describe, expect, it } from 'vitest'
import { createFakeSecrets } from '../fake-secrets.test-kit.ts'
import { redactTruncatedText } from '../secrets/find-secrets.ts'
import { excerpt, quoteText } from './excerpt.ts'

describe('quoteText', () => {
  it('shows where a text begins and ends, and its invisible characters', () => {
    expect(quoteText('a"b\n\t\u202e\u007f', 10)).toBe('"a\\"b\\n\\t\\u202e\\u007f"')
    expect(quoteText('\ud800', 10)).toBe('"\\ud800"')
  })

  it('shows only the beginning of a long text', () => {
    expect(quoteText('ab😀cd', 3)).toBe('"ab…"')
  })
})

describe('excerpt', () => {
  it('replaces a secret before the cut, at any position', () => {
    for (const { secret, text = secret } of createFakeSecrets())
      for (let length = 1; length < text.length; length++)
        expect(excerpt(`say ${text}`, length)).not.toContain(secret.slice(0, 8))
  })

  it('reads only the beginning', () => {
    expect(excerpt('x'.repeat(5_000_000), 5)).toBe('xxxxx…')
  })
})

describe('redactTruncatedText', () => {
  it('also replaces the beginning of a secret at the end', () => {
    const [github] = createFakeSecrets()
    expect(redactTruncatedText(`bad key ${github?.secret.slice(0, 12)}`)).toBe('bad key [redacted: GitHub token]')
    expect(redactTruncatedText(`${github?.secret} is bad: ${github?.secret.slice(0, 4)}`)).toBe(
      '[redacted: GitHub token] is bad: [redacted: GitHub token]',
    )
    expect(redactTruncatedText('nothing of the kind')).toBe('nothing of the kind')
  })
})
