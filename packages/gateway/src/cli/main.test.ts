import { execFile, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  cli,
  createTestHome,
  MAIN,
  scratchFolder,
  startProgram,
  type TestHome,
  waitForExit,
  waitForOutput,
} from './cli.test-kit.ts'

async function serving(at: TestHome) {
  const gateway = startProgram(['serve', '--port', '0', '--json'], { at })
  await waitForOutput(gateway.stdout, /\n/)
  return gateway
}

describe('with a running gateway', () => {
  it('commands use it over its socket', async () => {
    const at = createTestHome()
    const gateway = await serving(at)
    const servers = await cli(['servers', '--json'], { at })
    expect(servers.exit).toBe(0)
    expect(await cli(['call', 'current_time'], { at })).toMatchObject({ exit: 0 })
    expect(await cli(['ui'], { at })).toMatchObject({
      exit: 0,
      stdout: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/login\?token=[\w-]+\n$/),
    })
    expect(await cli(['token', 'create'], { at })).toMatchObject({ exit: 0 })
    expect((await cli(['doctor'], { at })).stdout).toMatch(/^✓ gateway +A gateway runs/m)
    const starts = (await cli(['audit', '--type', 'GATEWAY_STARTED', '--json'], { at })).stdout.trim().split('\n')
    expect(starts).toHaveLength(1)
    expect(JSON.parse(starts[0] ?? '').pid).toBe(gateway.pid)
  })

  it('one that serves another home is not used by mistake', async () => {
    const at = createTestHome()
    await serving(at)
    const other = createTestHome()
    const refused = await cli(['tools', '--home', other.home, '--state', at.state])
    expect(refused).toMatchObject({ exit: 1, stderr: expect.stringContaining('STATE_HELD') })
    const { exit, stdout } = await cli(['doctor', '--home', other.home, '--state', at.state])
    expect([exit, stdout]).toEqual([6, expect.stringContaining(`serves another home: ${at.home}`)])
    expect(stdout).not.toContain(`${at.home}/tools.yaml`)
  })

  it('Ctrl-C ends a call with 130 and cancels it at its server', async () => {
    const at = createTestHome()
    await serving(at)
    const follower = startProgram(['audit', '--follow', '--json', '--server', 'clock'], { at })
    const events = waitForOutput(follower.stdout, /"TOOL_CALL_STARTED"/)
    await waitForOutput(follower.stdout, /"UPSTREAM_CONNECTED"/)
    const call = startProgram(['call', 'countdown', '--args', '{"seconds":50}'], { at })
    const result = waitForExit(call)
    const failed = waitForOutput(follower.stdout, /"CALL_CANCELLED"/)
    await events
    call.kill('SIGINT')
    expect(await result).toEqual({ exit: 130, stdout: '', stderr: '✗ CALL_CANCELLED Interrupted.\n' })
    await failed
  })

  it('audit --follow continues with the next one when it ends, and shows nothing twice', async () => {
    const at = createTestHome()
    const first = await serving(at)
    const follower = startProgram(['audit', '--follow', '--json', '--type', 'GATEWAY_STARTED,GATEWAY_STOPPED'], { at })
    const result = waitForExit(follower)
    await waitForOutput(follower.stdout, /GATEWAY_STARTED/)
    const waiting = waitForOutput(follower.stderr, /waiting for one/)
    first.kill('SIGTERM')
    await waiting
    const restarted = waitForOutput(follower.stdout, /GATEWAY_STOPPED[\s\S]*GATEWAY_STARTED/)
    await serving(at)
    await restarted
    follower.kill('SIGINT')
    const { exit, stdout } = await result
    expect(exit).toBe(130)
    const seqs = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).seq)
    expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b))
    expect(seqs).toHaveLength(3)
  })
})

it('a state whose holder does not answer is reported after a while, and nothing is started', async () => {
  const at = createTestHome()
  const { lockState } = await import('../store/store.ts')
  const lock = await lockState(at.state, { version: '0', home: '/elsewhere' })
  const result = await waitForExit(startProgram(['audit'], { at }))
  if (!lock.held) lock.release()
  expect(result).toMatchObject({ exit: 5, stdout: '', stderr: expect.stringContaining('does not answer') })
})

it('a reader that closes the pipe ends the command silently', async () => {
  const at = createTestHome()
  await cli(['token', 'create'], { at })
  const child = startProgram(['audit', '--follow', '--json'], { at })
  const exit = once(child, 'exit')
  let words = ''
  child.stderr?.on('data', (chunk) => {
    words += String(chunk)
  })
  child.stdout?.destroy()
  expect(await exit).toEqual([0, null])
  expect(words).not.toContain('✗')
})

describe('completion', () => {
  const complete = async (...words: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'complete', '--', ...words])
    return stdout.split('\n').flatMap((line) => line.split('\t')[0] || [])
  }

  it('proposes commands, subcommands, flags and values', async () => {
    expect(await complete('to')).toEqual(['tools', 'token'])
    expect(await complete('token', '')).toEqual(expect.arrayContaining(['create', 'list', 'revoke']))
    expect(await complete('audit', '--ver')).toEqual(['--verdict'])
    expect(await complete('audit', '--verdict', 'd')).toEqual(['deny'])
    expect(await complete('audit', '--verdict', '=', 'd')).toEqual(['deny'])
    expect(await complete('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']))
    expect(await complete('nothing', '')).toEqual([])
  })

  it('really completes in bash', () => {
    const folder = scratchFolder()
    const program = join(folder, 'sallyport')
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
    chmodSync(program, 0o755)
    const script = `
      source <(sallyport completion bash)
      propose() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _sallyport_complete; echo "\${COMPREPLY[*]}"; }
      complete -p sallyport
      propose sallyport doc
      propose sallyport token rev
      propose sallyport audit --verdict fa
      propose sallyport audit --fol
    `
    const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], {
      encoding: 'utf8',
      env: { PATH: `${folder}:${process.env.PATH}` },
    })
    expect({ lines: stdout.trim().split('\n'), stderr }).toEqual({
      lines: ['complete -o default -F _sallyport_complete sallyport', 'doctor', 'revoke', 'failed', '--follow'],
      stderr: '',
    })
  })

  it.each(['zsh', 'fish'])('has a script that %s can read', async (shell) => {
    const { exit, stdout } = await cli(['completion', shell])
    expect({ exit, stdout: stdout }).toEqual({ exit: 0, stdout: expect.stringContaining('complete --') })
    const found = spawnSync(shell, ['-n', '/dev/stdin'], { input: stdout, encoding: 'utf8' })
    if (found.error === undefined) expect(found).toMatchObject({ status: 0, stderr: '' })
  })
})

it('serve loads no other command', () => {
  const folder = scratchFolder()
  // The coverage of a process names every module that it has loaded.
  spawnSync(process.execPath, [MAIN, 'serve', '--help'], { env: { NODE_V8_COVERAGE: folder } })
  const [report = ''] = readdirSync(folder)
  const { result } = JSON.parse(readFileSync(join(folder, report), 'utf8')) as { result: { url: string }[] }
  const own = result.map(({ url }) => url).filter((url) => url.includes('/gateway/dist/'))
  expect(own.some((url) => /\/serve-command-[\w-]+\.js$/.test(url))).toBe(true)
  const others = /\/(audit|call|doctor|explain|servers|tools|token|trust|ui|api|with-gateway)-[\w-]+\.js$/
  expect(own.filter((url) => others.test(url))).toEqual([])
})
