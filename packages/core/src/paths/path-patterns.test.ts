// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables in patterns are what is tested.

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDiskContext, createTree } from './path-context.test-kit.ts'
import type { PathContext } from './path-context.ts'
import { compilePathMatcher } from './path-rules.ts'

let root: string
let remove: () => void
let world: PathContext

beforeAll(() => {
  const tree = createTree(['app/a.txt', 'app/sub/deep/', 'app-evil/x', 'etc/', 'home/project/', 'link -> app'])
  root = tree.root
  remove = tree.remove
  const environment = (name: string): string | undefined => (name === 'APP' ? join(root, 'app') : undefined)
  world = createDiskContext(join(root, 'app'), { environment, userHome: join(root, 'home') })
})

afterAll(() => remove())

const placed = (text: string): string => text.replaceAll('R:', root)

const covers = (pattern: string, value: string, where: PathContext = world): boolean =>
  compilePathMatcher([placed(pattern)], where)([{ where: 'path', value: placed(value) }])

describe('patterns of paths', () => {
  it.each([
    ['R:/app', 'R:/app/sub/deep'],
    ['R:/app/', 'R:/app/a.txt'],
    ['R:/link/**', 'R:/app/a.txt'],
    ['R:/link', 'R:/link/sub'],
    ['R:/etc/../app', 'R:/app/a.txt'],
    ['R:/app/*/deep', 'R:/app/sub/deep/x'],
    ['R:/app/*.txt', 'R:/app/a.txt'],
    ['R:/app/?.txt', 'R:/app/a.txt'],
    ['R:/app/[a-c].{txt,md}', 'R:/app/b.md'],
    ['R:/app/[!b]*', 'R:/app/a.txt'],
    ['**/*.txt', 'R:/app/sub/x.txt'],
    ['**', 'R:/app/sub/x.txt'],
    ['/', 'R:/app/sub/x.txt'],
    ['*.txt', 'R:/app/x.txt'],
    ['./sub', 'R:/app/sub/x'],
    ['~/project', 'R:/home/project/x'],
    ['${APP}/**', 'R:/app/x'],
    ['file://R:/app', 'R:/app/x'],
    ['R:/app/\\*', 'R:/app/*'],
    ['R:/app/**/x/**/y', 'R:/app/x/y'],
    ['R:/app/**/x/**/y', 'R:/app/1/x/2/3/y'],
    ['R:/app/e\u0301', 'R:/app/é'],
    ['R:/app/**', 'R:/app/.hidden/.x'],
  ])('%s matches %s', (pattern, value) => {
    expect(covers(pattern, value)).toBe(true)
  })

  it.each([
    ['R:/app', 'R:/app-evil/x'],
    ['R:/app/*', 'R:/app/sub/deep'],
    ['R:/app/*.txt', 'R:/app/sub/x.txt'],
    ['R:/app/?.txt', 'R:/app/ab.txt'],
    ['R:/app/[!b]*', 'R:/app/b.txt'],
    ['*.txt', 'R:/app/sub/x.txt'],
    ['R:/app/\\*', 'R:/app/a'],
    ['R:/app/**/x', 'R:/app/y'],
    ['R:/APP', 'R:/app/x'],
    ['${UNSET}/x', '/x'],
    ['R:/app/*/../x', 'R:/app/x'],
    ['R:/app/{a', 'R:/app/{a'],
    ['R:/app/[a', 'R:/app/[a'],
    ['~root/x', '~root/x'],
    ['', 'R:/app/x'],
    ['C:\\app', 'R:/app/x'],
  ])('%s does not match %s', (pattern, value) => {
    expect(covers(pattern, value)).toBe(false)
  })

  it('match the value of a variable literally', () => {
    const odd = { ...world, environment: () => `${root}/app/*` }
    expect(covers('${ODD}/y', 'R:/app/x/y', odd)).toBe(false)
  })
})
