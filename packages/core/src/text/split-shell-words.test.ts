import { describe, expect, it } from 'vitest'
import { splitShellWords } from './split-shell-words.ts'

describe('a command in words', () => {
  it.each([
    ['docker mcp gateway run', ['docker', 'mcp', 'gateway', 'run']],
    ['  a \t b\n', ['a', 'b']],
    [`'/opt/my tools/docker' "x y" a\\ b`, ['/opt/my tools/docker', 'x y', 'a b']],
    [`pre'fix 'ed"and $HOME"`, ['prefix edand $HOME']],
    [`"say \\"hi\\"" '' "\\n"`, ['say "hi"', '', '\\n']],
    ['', []],
  ])('%j', (command, words) => {
    expect(splitShellWords(command)).toEqual(words)
  })

  it.each(["it's", 'a "b', 'a\\'])('is not made of %j, which does not end', (command) => {
    expect(splitShellWords(command)).toBeUndefined()
  })

  it('is found in time that grows with its length alone', () => {
    expect(splitShellWords(`"${'\\a'.repeat(50_000)}`)).toBeUndefined()
    expect(splitShellWords('a '.repeat(50_000))).toHaveLength(50_000)
  })
})
