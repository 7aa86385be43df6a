import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findLastingPort } from '../harness/lasting-port.ts'
import { eventually } from '../harness/processes.ts'
import { ROOT, textOf } from '../harness/repository.ts'
import { readSteps, shownPattern, Terminal } from '../harness/walk-through.ts'
import { promise } from '../promises.ts'

const NOT_COPIED = /examples\/template\/(?:node_modules|dist|data|\.env|found\.json)$/

/** The page uses 8000 and 8001; here they may be in use. */
const PORTS = { '8000': 'RECORDS_PORT', '8001': 'RECORDS_ISOLATED_PORT' } as const

describe(`docs/hands-on.md, step by step in a copy (${promise('KIT-15')})`, () => {
  const ports = new Map<string, string>()
  const opened: Terminal[] = []
  let repository: string
  let reader: Terminal
  let environment: Record<string, string | undefined>

  beforeAll(async () => {
    repository = mkdtempSync(join(tmpdir(), 'sallyport-hands-on-'))
    const template = join('examples', 'template')
    cpSync(join(ROOT, template), join(repository, template), {
      recursive: true,
      filter: (source) => !NOT_COPIED.test(source),
    })
    symlinkSync(join(ROOT, 'node_modules'), join(repository, 'node_modules'))
    for (const port of Object.keys(PORTS)) ports.set(port, String(await findLastingPort()))
    environment = {
      PATH: process.env.PATH,
      HOME: repository,
      NO_COLOR: '1',
      npm_config_loglevel: 'error',
      npm_config_update_notifier: 'false',
      SALLYPORT_MARK: process.env.SALLYPORT_MARK,
      ...Object.fromEntries(Object.entries(PORTS).map(([port, name]) => [name, ports.get(port)])),
    }
    reader = open(repository)
  })
  afterAll(async () => {
    for (const terminal of opened) await terminal.close()
    rmSync(repository, { recursive: true, force: true })
  })

  function open(cwd: string): Terminal {
    const terminal = new Terminal(cwd, environment)
    opened.push(terminal)
    return terminal
  }

  const here = (commands: string): string =>
    commands.replaceAll(/127\.0\.0\.1:(800[01])/g, (_, port) => `127.0.0.1:${ports.get(port)}`)

  function asShown(output: string): string {
    const shown = [...ports].reduce(
      (text, [port, own]) => text.replaceAll(`127.0.0.1:${own}`, `127.0.0.1:${port}`),
      output,
    )
    return shown.replaceAll('\r\n', '\n')
  }

  it.each(readSteps(textOf('docs/hands-on.md')))('$commands', async ({ commands, isBackground, fails, shown = '' }) => {
    if (isBackground) {
      const terminal = open(join(repository, 'examples', 'template'))
      terminal.type(here(commands))
      await eventually(
        () => asShown(terminal.output),
        (output) => shownPattern(shown).test(output),
      )
      return
    }
    const { code, output } = await reader.run(here(commands))
    expect(asShown(output)).toMatch(shownPattern(shown))
    expect(code === 0).toBe(!fails)
  })
})

describe('what a page shows', () => {
  it('has to be the whole output, except for what `…` replaces', () => {
    expect('a\nb\n').toMatch(shownPattern('a\nb\n'))
    expect('a\nb\nc\n').not.toMatch(shownPattern('a\nb\n'))
    expect('a\nb\nc\n').toMatch(shownPattern('a\n…\n'))
    expect('a 7 b\n').toMatch(shownPattern('a … b\n'))
    expect('a 7\n8 b\n').not.toMatch(shownPattern('a … b\n'))
    expect('axb\n').not.toMatch(shownPattern('a.b\n'))
  })
})
