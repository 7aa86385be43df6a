import { mkdtempSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readPrivateFile } from '@sallyport/kit/keys'
import { afterEach, beforeEach } from 'vitest'
import { type LocalTokens, openLocalTokens } from './local-tokens.ts'
import { parseStandingToken, type StandingRole } from './standing-token.ts'

export const isRoot = process.getuid?.() === 0

/** A new state folder for each test, with a fixed clock; everything is closed afterwards. */
export class TestTokens {
  state = ''
  clock = 0
  warnings: string[] = []
  #opened: LocalTokens[] = []

  constructor() {
    beforeEach(() => {
      this.state = mkdtempSync(join(tmpdir(), 'sallyport-tokens-'))
      this.clock = Date.UTC(2030, 0, 1)
      this.warnings = []
    })
    afterEach(() => {
      for (const tokens of this.#opened.splice(0)) tokens.close()
      rmSync(this.state, { recursive: true, force: true })
    })
  }

  async open(): Promise<LocalTokens> {
    const onWarning = (text: string) => this.warnings.push(text)
    const tokens = await openLocalTokens({ state: this.state, now: () => this.clock, onWarning })
    this.#opened.push(tokens)
    return tokens
  }

  file(name: string): string {
    return join(this.state, 'tokens', name)
  }
}

/** The clear text of a standing token, as a program of the same user may read it; `undefined` if the file is not safe to use. */
export function readStandingToken(state: string, role: StandingRole): string | undefined {
  const file = readPrivateFile(join(state, 'tokens', role), 'leave')
  return file.state === 'sound' ? parseStandingToken(file.text, role) : undefined
}

export const fileModeOf = (path: string): number => statSync(path).mode & 0o777

export const mintFor = (tokens: LocalTokens, agent = 'codex') => tokens.mint({ agent, profile: 'default' })

export function nextChange(tokens: Pick<LocalTokens, 'onChange'>): Promise<void> {
  return new Promise((resolve) => {
    const stop = tokens.onChange(() => {
      stop()
      resolve()
    })
  })
}

/** Moves a file and leaves a symbolic link to it. */
export function replaceBySymlink(path: string): void {
  renameSync(path, `${path}-elsewhere`)
  symlinkSync(`${path}-elsewhere`, path)
}
