import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'

const module = new URL('../../../dist/cli/terminal/ignore-write-errors.js', import.meta.url).href
const words = `
const { ignoreWriteErrors } = await import(${JSON.stringify(module)})
ignoreWriteErrors(process.stderr)
for (let round = 0; round < 20; round++) {
  process.stderr.write('words that nobody can take\\n')
  await new Promise(setImmediate)
}
process.stdout.write('alive')
`

describe('messages that cannot be written', () => {
  it.each([
    ['because nobody reads them', '2>&1 >&3 | true'],
    ['because the disk is full', '2>/dev/full >&3'],
    ['because there is nowhere to write', '2>&- >&3'],
  ])('%s do not end the process', async (_why, redirection) => {
    const line = `"${process.execPath}" --input-type=module -e '${words.replaceAll("'", `'\\''`)}' ${redirection}`
    const child = spawn('/bin/sh', ['-c', line], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
    let heard = ''
    child.stdio[3]?.on('data', (text) => {
      heard += String(text)
    })
    await once(child, 'close')
    expect(heard).toBe('alive')
  })
})
