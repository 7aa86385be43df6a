import { readFileSync } from 'node:fs'
import type { Command, RouteMap } from '@stricli/core'
import { describe, expect, it } from 'vitest'
import { COMMAND_NAMES, createApplication } from './application.ts'
import { cli } from './cli.test-kit.ts'
import type { CliContext } from './cli-context.ts'
import { createUsageText } from './run-cli.ts'

type Target = Command<CliContext> | RouteMap<CliContext>

const USAGE_TEXT = createUsageText({ view: { json: false, debug: false }, help: 'sallyport --help' })

/** Every path of words that leads to a command or to a group of them. */
async function allPaths(): Promise<readonly string[][]> {
  const { root } = await createApplication(USAGE_TEXT)
  const walk = (target: Target, path: readonly string[]): string[][] => {
    const below = 'getAllEntries' in target ? target.getAllEntries() : []
    return [[...path], ...below.flatMap((entry) => walk(entry.target, [...path, entry.name.original]))]
  }
  return walk(root, [])
}

describe('help', () => {
  it('starts with examples that start with the command itself, for every command', async () => {
    const paths = await allPaths()
    expect(paths.length).toBeGreaterThan(COMMAND_NAMES.length)
    for (const path of paths) {
      const { exit, stdout, stderr } = await cli([...path, '--help'])
      expect({ path, exit, stderr: stderr }).toEqual({ path, exit: 0, stderr: '' })
      expect(stdout).toMatch(/^EXAMPLES\n/)
      expect(stdout.split('\n')[1]).toMatch(
        new RegExp(`^  sallyport ${path.filter((word) => word !== 'list').join(' ')}`),
      )
    }
  })

  it('offers --home, --state and --json for every command', async () => {
    const { root } = await createApplication(USAGE_TEXT)
    for (const path of await allPaths()) {
      const target = path.reduce<Target | undefined>(
        (at, word) => (at && 'getAllEntries' in at ? at.getRoutingTargetForInput(word) : undefined),
        root,
      )
      if (target === undefined || 'getAllEntries' in target) continue
      for (const flag of ['home', 'state', 'json'])
        expect([path, flag, target.usesFlag(flag, 'original')]).toEqual([path, flag, true])
    }
  })

  it('of the program lists all commands and needs no command', async () => {
    const bare = await cli([])
    expect(bare).toEqual(await cli(['--help']))
    for (const name of COMMAND_NAMES) expect(bare.stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
  })

  it('and docs/cli.md name the same commands and the same flags', async () => {
    const guide = readFileSync(new URL('../../../../docs/cli.md', import.meta.url), 'utf8')
    const documented = [...guide.matchAll(/^#{2,3} `sallyport ([a-z -]+?)`$/gm)].map(([, path]) => path)
    const leaves = (await allPaths()).map((path) => path.join(' ')).filter((path) => path !== '')
    expect(documented.toSorted()).toEqual(leaves.toSorted())
    for (const [, words = ''] of guide.matchAll(/^ {2,4}?sallyport ([^#\n]*)/gm)) {
      const command = words.split(' ')[0] ?? ''
      expect(COMMAND_NAMES).toContain(command)
    }
  })

  it('and docs/cli.md show every flag of each command', async () => {
    const guide = readFileSync(new URL('../../../../docs/cli.md', import.meta.url), 'utf8')
    for (const path of await allPaths()) {
      const { stdout } = await cli([...path, '--help'])
      const section =
        guide.split(/^#{2,3} /m).find((text) => text.startsWith(`\`sallyport ${path.join(' ')}\`\n`)) ?? ''
      const flags = [...stdout.matchAll(/^ +(?:-\w )? *\[(--[a-z-]+)\]/gm)].map(([, flag]) => flag ?? '')
      for (const flag of flags.filter((each) => !['--home', '--state', '--json'].includes(each)))
        expect([path.join(' '), section.includes(flag) ? flag : 'missing']).toEqual([path.join(' '), flag])
    }
  })
})

it('the help of a group shows which of its commands is the default', async () => {
  const { stdout } = await cli(['audit', '--help'])
  expect(stdout).toContain(
    '`sallyport audit` alone means `sallyport audit list`. `sallyport audit <command> --help` shows',
  )
  expect((await cli(['token', '--help'])).stdout).not.toContain('alone means')
})

describe('a command line that cannot be parsed', () => {
  it.each([
    [['tols'], 'There is no command "tols". Did you mean "tools"?'],
    [['token', 'craete'], 'There is no command "craete". Did you mean "create"?'],
    [['tools', '--sever', 'x'], 'There is no flag --sever. Did you mean "--server"?'],
    [
      ['audit', '--verdict', 'denied'],
      'expected one of allow, ask, approved, expired, deny, would-ask, would-deny, failed. Did you mean "deny"?',
    ],
    [['completion', 'bsh'], '"bsh" is not one of bash, zsh, fish. Did you mean "bash"?'],
    [['audit', '--since', 'yesterday'], '"yesterday" is not a valid time.'],
    [['audit', '--limit', '0'], 'expected a whole number from 1'],
    [['call'], '<tool> is missing.'],
    [['call', 'a', 'b'], 'Unexpected argument "b"'],
    [['call', 'a', '{"b":1}'], "The arguments of a tool are given with --args '…'."],
    [['approvals', 'aprove'], 'There is no command "aprove". Did you mean "approve"?'],
    [['audit', 'verfy'], 'There is no command "verfy". Did you mean "verify"?'],
    [['approvals', '3f9a'], 'There is no command "3f9a".'],
    [['approvals', 'list', '3f9a'], 'Unexpected argument "3f9a"'],
    [['approvals', 'deny', '3f', '--why', 'x'.repeat(501)], '--why has 501 characters; at most 500 are expected.'],
    [['call', 'a', '--args'], '--args needs a value.'],
    [['call', 'a', '--args', '{}', '--args', '{}'], '--args is given more than once.'],
    [['call', 'a', '--timeout', 'soon'], '"soon" is not a valid timeout'],
    [['token', 'create', '--ttl', '0s'], '"0s" is not a valid time to live'],
    [['--jsn'], 'There is no flag "--jsn" here.'],
  ])('%j exits with 2 and suggests what was meant', async (args, message) => {
    const { exit, stdout, stderr } = await cli(args)
    expect({ exit, stdout: stdout }).toEqual({ exit: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toMatch(/ {2}See `sallyport .*--help`\.\n$/)
  })

  it.each([
    [['constructor']],
    [['__proto__']],
    [['toString']],
    [['tools', '--constructor']],
    [['tools', '--toString']],
  ])('%j is not confused with a property of all objects', async (args) => {
    const { exit, stderr } = await cli(args)
    expect(exit).toBe(2)
    expect(stderr).toMatch(/^✗ USAGE There is no (command|flag)/)
  })

  it.each([[['run', 'claude', '-p', 'x']], [['run', 'claude', '--model', 'opus']]])(
    '%j shows how to pass flags to the agent',
    async (args) => {
      const { exit, stderr } = await cli(args)
      expect(exit).toBe(2)
      expect(stderr).toContain('Put -- before the agent’s own flags')
    },
  )

  it('is answered in JSON if JSON was requested', async () => {
    const { exit, stderr } = await cli(['audit', '--json', '--sinse', '1h'])
    expect(exit).toBe(2)
    expect(JSON.parse(stderr)).toEqual({
      error: {
        code: 'USAGE',
        message: 'There is no flag --sinse. Did you mean "--since"?',
        hint: 'See `sallyport audit --help`.',
      },
    })
  })
})

it('--version prints the version alone', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(await cli(['--version'])).toEqual({ exit: 0, stdout: `${version}\n`, stderr: '' })
})
