import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { inTerminal } from '../harness/in-terminal.ts'
import { eventually } from '../harness/processes.ts'
import { errorOf, runCommand } from '../harness/run-command.ts'
import { MAIN } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { type AgentHome, agentHome, SIX_AGENTS } from './agent-homes.ts'

const GOLDEN = new URL('../fixtures/imported-config.yaml', import.meta.url)

const SECRETS = [
  ...['ghp_1a2B3c4D5e6F7g8H9i0Jk1L2m3N4o5P6q7R8', 'v3ryS3cretPw', 'xoxb-fake-1234-AbCdEfGhIjKlMnOpQrStUv'],
  ...['ctx7sk-0a1b2c3d-4e5f-6071', 'BSAx9y8z7w6v5u4t3s2r1q0', 'sk_test_51AbCdEfGhIjKlMnOpQrStUvWx'],
  ...['ghp_9z8Y7x6W5v4U3t2S1r0Qp9O8n7M6l5K4j3I2', 'Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZg', 'dckr_pat_AbC123dEf456GhI789'],
]

const run = ({ folder, env }: AgentHome, ...args: string[]) => runCommand(args, { cwd: join(folder, 'work'), env })

describe(`importing the servers of six agents (${promise('AG-18')})`, () => {
  it('gives a config that a person would accept, without a secret anywhere', async () => {
    const home = agentHome(SIX_AGENTS)
    const { code, stdout, stderr } = await run(home, 'import', '--yes')
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(' servers added to ') })
    const text = readFileSync(home.config, 'utf8')
    await expect(text).toMatchFileSnapshot(GOLDEN.pathname)
    for (const secret of SECRETS) expect(`${text}${stdout}${stderr}`).not.toContain(secret)
    expect(statSync(home.config).mode & 0o777).toBe(0o600)
  })

  it('touches no file of the agents, and adds nothing the second time', async () => {
    const home = agentHome(SIX_AGENTS)
    await run(home, 'import', '--yes')
    const text = readFileSync(home.config, 'utf8')
    const again = await run(home, 'import', '--yes')
    expect(again).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('There is nothing to import.') })
    expect(readFileSync(home.config, 'utf8')).toBe(text)
    for (const [path, was] of Object.entries(SIX_AGENTS))
      expect(readFileSync(join(home.folder, path), 'utf8')).toBe(was)
  })

  it('gives a config that the gateway loads, and whose servers it starts if their variables are set', async () => {
    const home = agentHome(SIX_AGENTS)
    const { added } = JSON.parse((await run(home, 'import', '--yes', '--json')).stdout)
    const listed = await run(home, 'servers', '--json')
    const { servers } = JSON.parse(listed.stdout)
    const states = new Map(servers.map(({ id, state }: { id: string; state: string }) => [id, state]))
    for (const { id, unset } of added) {
      if (unset.length > 0) expect([id, states.get(id)]).toEqual([id, 'disabled'])
      else expect([id, states.get(id)]).not.toEqual([id, 'disabled'])
    }
    expect(states.size).toBe(added.length + 1)
  })

  it('says what was merged, renamed and left out, and why', async () => {
    const home = agentHome({ ...SIX_AGENTS, '.claude.json': '{ "mcpServers": {' })
    const { code, stderr } = await run(home, 'import', '--dry-run')
    expect(code).toBe(0)
    expect(stderr).toMatch(/^✗ claude-code: .*\.claude\.json/m)
    expect(stderr).toMatch(/^\+ github: github of codex, the same as GitHub of gemini-cli, gh of amp/m)
    expect(stderr).toMatch(/^\+ github-opencode: github of opencode \(another server is called github\)$/m)
    expect(stderr).toMatch(/^- gateway of amp is left out: it is this gateway\.$/m)
    expect(stderr).toMatch(/^- retired of codex is left out: it is disabled there\.$/m)
    expect(stderr).toMatch(/^- broken of cursor is left out: it has neither a program/m)
    expect(stderr).toMatch(/^ {2}export BRAVE_API_KEY='…' {3}# env\.BRAVE_API_KEY of brave of amp, in /m)
    expect(existsSync(home.config)).toBe(false)
  })

  it('keeps what people wrote byte for byte, and is refused without a terminal or --yes', async () => {
    const home = agentHome(SIX_AGENTS)
    const mine = `# mine\ngateway: { port: 4800 }   # not the usual one\n\nmcp_servers:\n    fs:   # by hand\n        command: npx\n        args: [ -y, '@modelcontextprotocol/server-filesystem', /home/ann/notes ]\n\n# the end\n`
    mkdirSync(dirname(home.config), { recursive: true })
    writeFileSync(home.config, mine)
    const refused = await run(home, 'import', '--json')
    expect(refused.code).toBe(2)
    expect(errorOf(refused)).toMatchObject({ code: 'USAGE', hint: expect.stringContaining('--yes') })
    expect(readFileSync(home.config, 'utf8')).toBe(mine)
    const { present } = JSON.parse(
      (await run(home, 'import', '--yes', '--json', '--from', 'cursor', '--from', 'claude')).stdout,
    )
    expect(present).toMatchObject([{ id: 'fs', agent: 'claude-code', name: 'filesystem' }])
    const text = readFileSync(home.config, 'utf8')
    const [head = '', tail = ''] = mine.split('\n# the end')
    expect(text.startsWith(head)).toBe(true)
    expect(text.endsWith(`\n# the end${tail}`)).toBe(true)
    expect(text).not.toContain('codex')
  })

  it('takes nothing from a folder of somebody else without --project', async () => {
    const home = agentHome({ 'work/.mcp.json': '{ "mcpServers": { "theirs": { "command": "evil" } } }' })
    const { code, stderr } = await run(home, 'import', '--yes')
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/^- theirs of .* --project\.$/m) })
    expect(existsSync(home.config)).toBe(false)
    expect((await run(home, 'import', '--yes', '--project')).code).toBe(0)
    expect(readFileSync(home.config, 'utf8')).toContain('command: evil')
  })

  it('writes secrets as they are with --plain-secrets, and still prints none', async () => {
    const home = agentHome({
      '.cursor/mcp.json': '{ "mcpServers": { "x": { "command": "x", "env": { "API_TOKEN": "hunter2-and-3" } } } }',
    })
    const { stdout, stderr } = await run(home, 'import', '--yes', '--plain-secrets')
    expect(readFileSync(home.config, 'utf8')).toContain('API_TOKEN: hunter2-and-3')
    expect(`${stdout}${stderr}`).not.toContain('hunter2')
    expect(stdout).toContain('API_TOKEN: ')
  })

  it('leaves a config alone that it cannot parse, and names the line', async () => {
    const home = agentHome(SIX_AGENTS)
    mkdirSync(dirname(home.config), { recursive: true })
    writeFileSync(home.config, 'mcp_servers:\n  a: [\n')
    const refused = await run(home, 'import', '--yes', '--json')
    expect(refused.code).not.toBe(0)
    expect(errorOf(refused)).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('config.yaml:') })
    expect(readFileSync(home.config, 'utf8')).toBe('mcp_servers:\n  a: [\n')
  })

  it('knows the agents by their aliases, and says which was meant', async () => {
    const { code, stderr } = await run(agentHome({}), 'import', '--from', 'cluade')
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('Did you mean "claude"?') })
  })
})

describe(`sallyport init (${promise('AG-18')})`, () => {
  it('imports, makes the profile that is named, and prints the line that runs it', async () => {
    const home = agentHome(SIX_AGENTS)
    const { code, stdout } = await run(home, 'init', '--yes', '--from', 'codex', '--profile', 'codex.Reviewer')
    expect(code).toBe(0)
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('sallyport run codex --profile reviewer')
    expect(readFileSync(home.config, 'utf8')).toContain('# from codex')
    const profiles = join(dirname(home.config), 'profiles.json')
    expect(JSON.parse(readFileSync(profiles, 'utf8'))).toEqual({ executors: { CODEX: { REVIEWER: {} } } })
  })

  it('can be run again, and changes nothing that is there', async () => {
    const home = agentHome(SIX_AGENTS)
    await run(home, 'init', '--yes')
    const profiles = join(dirname(home.config), 'profiles.json')
    const text = '{ "executors": { "CODEX": { "CI": { "selected_mcp_tools": ["time"] } } } }\n'
    writeFileSync(profiles, text)
    const config = readFileSync(home.config, 'utf8')
    const again = await run(home, 'init', '--json', '--profile', 'codex.ci')
    expect(again.code).toBe(0)
    expect(JSON.parse(again.stdout)).toMatchObject({
      import: { added: [], written: false },
      ...{ profile: 'codex.ci', run: 'sallyport run codex --profile ci' },
    })
    expect(readFileSync(profiles, 'utf8')).toBe(text)
    expect(readFileSync(home.config, 'utf8')).toBe(config)
  })

  it('asks in a terminal about each step, and writes what was answered', async () => {
    const home = agentHome({
      '.codex/config.toml': '[mcp_servers.docs]\ncommand = "docs"\n[mcp_servers.shell]\ncommand = "shell"\n',
      '.cursor/mcp.json': '{}',
    })
    const [program = '', ...args] = inTerminal([process.execPath, MAIN, 'init'])
    const env = { ...process.env, ...home.env, PATH: process.env.PATH ?? '' }
    const child = spawn(program, args, { cwd: join(home.folder, 'work'), env })
    onTestFinished(() => void child.kill('SIGKILL'))
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      shown += text
    })
    for (const [question, answer] of [
      ['[y/N] ', 'y'],
      ['Number or name [1]: ', 'codex'],
      ['Enter for all: ', 'dcos'],
      ['Did you mean "docs"?', ''],
      ['Enter for all: ', 'docs'],
    ] as const) {
      await eventually(
        () => shown,
        (text) => text.includes(question),
      )
      shown = shown.slice(shown.indexOf(question) + question.length)
      if (answer !== '') child.stdin.write(`${answer}\n`)
    }
    const [code] = await once(child, 'close')
    expect({ code, shown }).toMatchObject({ code: 0, shown: expect.stringContaining('sallyport run codex') })
    const profiles = JSON.parse(readFileSync(join(dirname(home.config), 'profiles.json'), 'utf8'))
    expect(profiles).toEqual({ executors: { CODEX: { DEFAULT: { selected_mcp_tools: ['docs'] } } } })
  })

  it('asks for a terminal or for --yes before it writes anything', async () => {
    const home = agentHome(SIX_AGENTS)
    const { code, stderr } = await run(home, 'init')
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect(existsSync(dirname(home.config))).toBe(false)
  })

  it('says what to do if there is no agent', async () => {
    const { code, stdout, stderr } = await run(agentHome({}), 'init', '--yes')
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain('No agent was found.')
  })

  it('shows how to connect an agent that cannot be configured for one run, even if its program is installed', async () => {
    const home = agentHome({ '.cursor/mcp.json': SIX_AGENTS['.cursor/mcp.json'] ?? '' })
    writeFileSync(join(home.folder, 'bin/cursor-agent'), '#!/bin/sh\n', { mode: 0o755 })
    const { stdout } = await run(home, 'init', '--yes', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ agents: ['cursor'], run: 'sallyport connect cursor' })
  })

  it('finds an agent that is installed and has no file yet, before those that cannot be run', async () => {
    const home = agentHome({ '.cursor/mcp.json': SIX_AGENTS['.cursor/mcp.json'] ?? '' })
    writeFileSync(join(home.folder, 'bin/gemini'), '#!/bin/sh\n', { mode: 0o755 })
    const { stdout } = await run(home, 'init', '--yes', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ agents: ['gemini-cli', 'cursor'], run: 'sallyport run gemini-cli' })
  })
})
