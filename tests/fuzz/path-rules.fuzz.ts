import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { compilePathRules, findPaths } from '@sallyport/core'
import fc from 'fast-check'
import { createPathWorld } from '../../packages/gateway/src/governance/path-world.ts'
import type { FuzzSuite } from './fuzz-suite.ts'

const FILES = ['a.txt', 'open/a.txt', 'secret/a.txt', 'secret/open/a.txt']
const LINKS = [
  ['open', 'to-open'],
  ['secret', 'open/to-secret'],
  ['secret/open', 'deep'],
] as const
const SECRET = 'content of a secret file'

export const suite: FuzzSuite = {
  open: () => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-fuzz-paths-')))
    for (const file of FILES) {
      mkdirSync(dirname(join(root, file)), { recursive: true })
      writeFileSync(join(root, file), file.includes('secret') ? SECRET : 'content of an open file')
    }
    for (const [target, name] of LINKS) symlinkSync(join(root, target), join(root, name))
    const world = createPathWorld({ environment: process.env, userHome: root, cwd: root, platform: process.platform })
    const judge = compilePathRules({ forbiddenPaths: { value: [`${root}/secret/**`], reason: '' } }, world)

    const name = fc.constantFrom('a.txt', 'open', 'secret', 'to-open', 'to-secret', 'deep', '..', '.', '', 'missing')
    const path = fc.array(name, { maxLength: 6 }).map((names) => `${root}/${names.join('/')}`)
    return {
      properties: {
        'A forbidden file is not opened by a path that the rule lets pass': fc.property(path, (value) => {
          const { outcome } = judge(findPaths({ path: value }, undefined))
          for (const opened of [value, resolve(value)])
            if (outcome === 'allow' && read(opened) === SECRET) throw new Error(`${opened} was read.`)
        }),
      },
      close: () => rmSync(root, { recursive: true, force: true }),
    }
  },
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}
