import { describe, expect, it } from 'vitest'
import { findWords } from '../../lint/words.mjs'

describe('the list of words', () => {
  const words = (file: string, content: string) => findWords(file, content).map(({ line, word }) => `${line} ${word}`)

  it('finds names, comments and messages in code, and sentences in pages', () => {
    const code = ['const MOST_CALLS = 5 // it stands in a file', "fail('A flaw was found.')"].join('\n')
    expect(words('packages/core/src/a.ts', code)).toEqual(['1 MOST_CALLS', '1 stands in', '2 flaw'])
    expect(words('docs/a.md', 'One\n\nCalls under way end.')).toEqual(['3 under way'])
    const names = ['readonly most?: number', 'openResultShelf()', 'sayRest: describe', 'doubtsOf(offer)']
    expect(words('packages/core/src/a.ts', names.join('\n'))).toHaveLength(names.length)
  })

  it('leaves other words, quoted names and the table itself alone', () => {
    expect(words('packages/core/src/a.ts', 'const MAX_CALLS = 5 // it is in a file')).toEqual([])
    expect(words('docs/a.md', 'The member `trouble` of the mode.')).toEqual([])
    expect(words('lint/words.mjs', 'at the most')).toEqual([])
  })
})
