import { describe, expect, it } from 'vitest'
import { splitShellWords } from './split-shell-words.ts'

describe('the words of a command', () => {
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

  it.each(["it's", 'a "b', 'a\\'])('are undefined for %j, which is not closed', (command) => {
    expect(splitShellWords(command)).toBeUndefined()
  })

  it('are found in linear time', () => {
    expect(splitShellWords(`"${'\\a'.repeat(50_000)}`)).toBeUndefined()
    expect(splitShellWords('a '.repeat(50_000))).toHaveLength(50_000)
  })
})
