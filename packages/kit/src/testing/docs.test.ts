import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const REPOSITORY = fileURLToPath(new URL('../../../..', import.meta.url))
const run = promisify(execFile)

/** The first code block of a page in this language. */
async function block(page: string, language: string): Promise<string> {
  const text = await readFile(`${REPOSITORY}/docs/kit/${page}`, 'utf8')
  return new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's').exec(text)?.[1] ?? ''
}

const runProgram = (program: string, env: Readonly<Record<string, string>> = {}) =>
  run(process.execPath, ['--input-type=module', '-e', program], { cwd: `${REPOSITORY}/packages/kit`, env })

test('the test in docs/kit/testing.md runs unchanged', async () => {
  const program = await block('testing.md', 'js')
  expect(program).toContain('connectInMemory')
  await runProgram(program)
  await expect(runProgram(program.replace('Hello ada', 'Hello bob'))).rejects.toThrow('Expected values')
})

test('the server in docs/kit/private-data.md refuses with the message in the page', async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'docs-'))
  try {
    const program = `${await block('private-data.md', 'js')}
      const { connectInMemory } = await import('@sallyport/kit/testing')
      const client = await connectInMemory(server)
      await client.callTool('load_salaries')
      console.log((await client.callTool('post_message')).content[0].text)`
    const { stdout } = await runProgram(program, { SALLYPORT_DATA: dataFolder })
    expect(stdout).toBe(await block('private-data.md', 'text'))
  } finally {
    await rm(dataFolder, { recursive: true })
  }
})
